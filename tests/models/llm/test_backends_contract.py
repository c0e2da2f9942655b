"""What every `Chat` backend promises, over each of them. A new backend joins by one line in `BACKENDS`."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from models.llm.chat import Chat, ChatRequest, Completion, Message
from models.llm.llamacpp import LlamaCppChat, LlamaCppSettings
from models.llm.openai_compatible import OpenAICompatibleChat, OpenAISettings
from models.llm.retry import RetryPolicy
from tests.models.llm.server import Say, refusal, reply, serving

MAX_WORDS = 200


def play(body: dict[str, Any]) -> Say:
    """A model that repeats the prompt's last word, has a small window, and trips over the word `crash`."""
    words = body["messages"][-1]["content"].split()
    if len(words) > MAX_WORDS:
        return refusal(400, f"request ({len(words)} tokens) exceeds the available context size ({MAX_WORDS} tokens)")
    if "crash" in words:
        return refusal(400, "bad request")
    return reply(f"<think>hm</think>{words[-1]}", prompt_tokens=len(words), completion_tokens=1)


class _FakeServer:
    """Stands for `xllamacpp.Server`, which answers with the bodies that an HTTP server would send."""

    def __init__(self, params: Any) -> None:
        assert params.n_ctx == MAX_WORDS
        assert params.model.path.endswith("tiny.gguf")

    def handle_chat_completions(self, body: dict[str, Any]) -> Any:
        if body["messages"][-1]["content"] == "crash":
            raise ValueError("bad request")
        return play(body).body


class _FakeParams:
    def __init__(self) -> None:
        self.model, self.cpuparams, self.cpuparams_batch = (types.SimpleNamespace() for _ in range(3))


@contextmanager
def openai_chat(_: Path, __: pytest.MonkeyPatch) -> Iterator[Chat]:
    with serving(lambda body, _: play(body)) as server:
        retry = RetryPolicy(attempts=2, first_s=0.01)
        yield OpenAICompatibleChat(OpenAISettings("tiny", server.url, context_window=MAX_WORDS, retry=retry))


@contextmanager
def llamacpp_chat(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    fake = types.ModuleType("xllamacpp")
    vars(fake).update(Server=_FakeServer, CommonParams=_FakeParams)
    monkeypatch.setitem(sys.modules, "xllamacpp", fake)
    path = folder / "tiny.gguf"
    path.touch()
    yield LlamaCppChat(LlamaCppSettings(str(path), context_window=MAX_WORDS))


Backend = Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[Chat]]
BACKENDS: dict[str, Backend] = {"openai": openai_chat, "llamacpp": llamacpp_chat}


@pytest.fixture(params=BACKENDS)
def chat(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    with BACKENDS[request.param](tmp_path, monkeypatch) as backend:
        yield backend


def ask(*texts: str) -> list[ChatRequest]:
    return [ChatRequest((Message("user", text),)) for text in texts]


def test_the_name_holds_backend_and_model(chat: Chat) -> None:
    backend, _, model = chat.name.partition(":")
    assert backend in BACKENDS
    assert "tiny" in model


def test_the_window_is_the_one_that_was_set(chat: Chat) -> None:
    assert chat.context_window == MAX_WORDS


def test_no_requests_give_no_completions(chat: Chat) -> None:
    assert chat.complete([]) == []


def test_one_completion_per_request_in_order_without_thoughts(chat: Chat) -> None:
    completions = chat.complete(ask(*(f"say word{i}" for i in range(20))))
    assert [c.text for c in completions] == [f"word{i}" for i in range(20)]
    assert all(c.status == "ok" and c.prompt_tokens == 2 and c.seconds >= 0 for c in completions)


def test_on_done_is_called_once_per_request_with_its_completion(chat: Chat) -> None:
    seen: dict[int, list[Completion]] = {}
    completions = chat.complete(ask(*map(str, range(15))), lambda i, c: seen.setdefault(i, []).append(c))
    assert sorted(seen) == list(range(15))
    assert all(seen[i] == [completions[i]] for i in seen)


def test_a_prompt_that_is_too_long_is_an_overflow_and_loses_no_other(chat: Chat) -> None:
    completions = chat.complete(ask("a", "b " * (MAX_WORDS + 1), "c"))
    assert [c.status for c in completions] == ["ok", "overflow", "ok"]


def test_a_refused_request_is_an_error_with_a_reason_and_loses_no_other(chat: Chat) -> None:
    completions = chat.complete(ask("a", "crash", "please crash", "c"))
    assert [c.status for c in completions] == ["ok", "error", "error", "ok"]
    assert "bad request" in completions[1].error


def test_braces_and_special_tokens_in_a_prompt_are_sent_as_they_are(chat: Chat) -> None:
    [completion] = chat.complete(ask('say {"x":"{y}<|im_end|>${z}"}'))
    assert completion.text == '{"x":"{y}<|im_end|>${z}"}'


@pytest.fixture(scope="module")
def real_model(gguf: Path) -> LlamaCppChat:
    return LlamaCppChat(LlamaCppSettings(str(gguf), context_window=1_024))


@pytest.mark.llm
def test_a_real_model_answers_the_same_twice_and_reuses_the_prompt(real_model: LlamaCppChat) -> None:
    request = ChatRequest((Message("user", "What is the capital of France? One word."),), max_tokens=8)
    first, second = real_model.complete([request, request])
    assert first.status == "ok"
    assert "Paris" in first.text
    assert first.text == second.text
    assert second.cached_tokens > 0


@pytest.mark.llm
def test_a_real_model_keeps_to_a_schema(real_model: LlamaCppChat) -> None:
    schema = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"]}
    request = ChatRequest((Message("user", "The colour of the sky, as JSON."),), max_tokens=30, schema=schema)
    [completion] = real_model.complete([request])
    assert json.loads(completion.text)["colour"] in ("red", "blue")


@pytest.mark.llm
def test_a_real_model_reports_overflow(real_model: LlamaCppChat) -> None:
    [completion] = real_model.complete(ask("word " * 3_000))
    assert completion.status == "overflow"
