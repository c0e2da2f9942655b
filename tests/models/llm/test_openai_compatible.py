"""The HTTP backend against a real server in a thread: faults are retried or reported, and no item loses another."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from models.llm.chat import ChatRequest, Completion, Message
from models.llm.openai_compatible import OpenAICompatibleChat, OpenAISettings
from models.llm.retry import RetryPolicy
from tests.models.llm.server import FakeServer, Say, Script, late, refusal, reply, serving

KEY = "sk-very-secret-0123456789"
QUICK = RetryPolicy(attempts=4, first_s=0.01, longest_s=0.05)
OVERFLOWS = [
    "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens in the messages.",
    "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
    "request (5030 tokens) exceeds the available context size (2048 tokens), try increasing it",
    "Input length 40000 exceeds the maximum context length 32768",
    "`inputs` tokens + `max_new_tokens` must be <= 4096",
]


def ask(*texts: str) -> list[ChatRequest]:
    return [ChatRequest((Message("user", text),)) for text in texts]


def chat_with(server: FakeServer, **changes: Any) -> OpenAICompatibleChat:
    return OpenAICompatibleChat(replace(OpenAISettings("tiny", server.url, retry=QUICK), **changes))


def completion_for(script: Script, **changes: Any) -> tuple[Completion, FakeServer]:
    with serving(script) as server:
        [completion] = chat_with(server, **changes).complete(ask("hello"))
    return completion, server


def then(*faults: Say) -> Script:
    """The faults, one a try, then a good reply."""
    return lambda _, seen: faults[seen] if seen < len(faults) else reply("fine")


def test_tokens_and_seconds_are_reported_with_the_reply() -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}}
    completion, _ = completion_for(lambda *_: reply("fine", **usage))
    assert (completion.text, completion.status, completion.finish_reason) == ("fine", "ok", "stop")
    assert (completion.prompt_tokens, completion.cached_tokens, completion.completion_tokens) == (90, 64, 7)
    assert completion.seconds > 0


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": None}, {"prompt_tokens": 3, "prompt_tokens_details": None}])
def test_missing_usage_counts_zero(usage: dict[str, Any]) -> None:
    completion, _ = completion_for(lambda *_: reply("fine", **usage))
    assert (completion.status, completion.cached_tokens, completion.completion_tokens) == ("ok", 0, 0)


def test_temperature_and_seed_are_always_sent_and_the_schema_when_asked_for() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    request = ChatRequest((Message("system", "s"), Message("user", "u")), max_tokens=9, seed=5, schema=schema)
    with serving(lambda *_: reply("{}")) as server:
        chat_with(server).complete([request, *ask("plain")])
    with_schema, plain = sorted(server.bodies, key=lambda body: -len(body))
    assert with_schema["response_format"] == {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    assert (with_schema["temperature"], with_schema["seed"], with_schema["max_tokens"]) == (0.0, 5, 9)
    assert [message["role"] for message in with_schema["messages"]] == ["system", "user"]
    assert plain["temperature"] == 0.0
    assert "response_format" not in plain
    assert "chat_template_kwargs" not in plain


def test_thinking_is_switched_off_only_where_asked() -> None:
    completion, server = completion_for(lambda *_: reply("fine"), thinking=False)
    assert completion.status == "ok"
    assert server.bodies[0]["chat_template_kwargs"] == {"enable_thinking": False}


def test_429_twice_then_success_waits_as_long_as_the_server_says() -> None:
    start = time.monotonic()
    completion, server = completion_for(then(*[refusal(429, "slow down", retry_after="0.3")] * 2))
    assert (completion.text, len(server.bodies)) == ("fine", 3)
    assert time.monotonic() - start >= 0.6


def test_retry_after_may_be_a_date() -> None:
    start = time.time()
    completion, _ = completion_for(
        lambda _, seen: reply("fine") if seen else refusal(429, "x", retry_after=formatdate(start + 2))
    )
    assert completion.text == "fine"
    assert time.time() - start >= 0.9  # HTTP dates have whole seconds


@pytest.mark.parametrize("fault", [Say(500, "oops"), Say(503, {"error": "busy"}), Say(502, "<html>bad gateway</html>")])
def test_server_errors_are_tried_again(fault: Say) -> None:
    completion, server = completion_for(then(fault, fault))
    assert (completion.text, len(server.bodies)) == ("fine", 3)


def test_a_timeout_is_tried_again() -> None:
    completion, server = completion_for(then(late(reply("late"), 0.6)), timeout_s=0.2)
    assert (completion.text, len(server.bodies)) == ("fine", 2)


def test_a_reset_connection_is_tried_again() -> None:
    completion, server = completion_for(then(Say(close=True)))
    assert (completion.text, len(server.bodies)) == ("fine", 2)


@pytest.mark.parametrize(
    "body", ['{"choices": [{"mess', "[]", "{}", '{"choices": []}', '{"choices": [3]}', '"text"', "null"]
)
def test_a_body_that_is_no_completion_is_tried_again(body: str) -> None:
    completion, server = completion_for(then(Say(body=body)))
    assert (completion.text, len(server.bodies)) == ("fine", 2)


def test_what_never_gets_better_ends_as_an_error_with_the_reason() -> None:
    completion, server = completion_for(lambda *_: Say(500, {"error": {"message": "out of memory"}}))
    assert completion.status == "error"
    assert "out of memory" in completion.error
    assert completion.error.endswith("(after 4 attempts)")
    assert len(server.bodies) == QUICK.attempts


@pytest.mark.parametrize("message", OVERFLOWS)
def test_a_prompt_that_is_too_long_is_an_overflow_without_a_retry(message: str) -> None:
    completion, server = completion_for(lambda *_: refusal(400, message))
    assert (completion.status, len(server.bodies)) == ("overflow", 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 422])
def test_other_refusals_are_errors_at_once(status: int) -> None:
    completion, server = completion_for(lambda *_: refusal(status, "no such model"))
    assert (completion.status, len(server.bodies)) == ("error", 1)
    assert f"HTTP {status}" in completion.error
    assert "no such model" in completion.error


def test_an_empty_purse_is_not_retried() -> None:
    completion, server = completion_for(lambda *_: refusal(429, "You exceeded your quota", code="insufficient_quota"))
    assert (completion.status, len(server.bodies)) == ("error", 1)


@pytest.mark.parametrize("text", ["", None, "  \n", "<think>only thoughts</think>", "<think>cut in the middle"])
def test_an_empty_reply_gets_one_more_try_and_its_tokens_count(text: str | None) -> None:
    completion, server = completion_for(lambda *_: reply(text, prompt_tokens=10, completion_tokens=4))
    assert completion.status == "error"
    assert completion.error.startswith("empty reply")
    assert len(server.bodies) == 2
    assert (completion.prompt_tokens, completion.completion_tokens) == (20, 8)


def test_thoughts_are_stripped_from_the_reply() -> None:
    completion, _ = completion_for(lambda *_: reply("<think>\nyes?\n</think>\n\nno"))
    assert completion.text == "no"


def test_a_deadline_ends_all_attempts() -> None:
    completion, _ = completion_for(lambda *_: late(reply("late"), 0.8), deadline_s=0.2)
    assert completion.status == "error"
    assert "deadline" in completion.error


def test_a_wait_past_the_deadline_is_not_begun() -> None:
    start = time.monotonic()
    completion, server = completion_for(lambda *_: refusal(429, "tomorrow", retry_after="86400"))
    assert (completion.status, len(server.bodies)) == ("error", 1)
    assert time.monotonic() - start < 5


def test_a_server_that_is_not_there_is_an_error_not_an_exception() -> None:
    with serving(lambda *_: reply("x")) as server:
        chat = chat_with(server)
    [completion] = chat.complete(ask("hello"))
    assert completion.status == "error"
    assert "connection failed" in completion.error


def test_no_more_requests_are_in_flight_than_allowed() -> None:
    with serving(lambda *_: late(reply("fine"), 0.05)) as server:
        chat_with(server, parallel=3).complete(ask(*map(str, range(12))))
    assert server.most_in_flight == 3


def test_replies_stand_in_the_order_of_the_requests_whatever_order_they_arrive_in() -> None:
    others_done, arrived = threading.Event(), list[int]()

    def slow_first(body: dict[str, Any], _: int) -> Say:
        number = int(body["messages"][0]["content"])
        return Say(body=reply(f"reply {number}").body, before=bool if number else lambda: others_done.wait(10))

    def note(index: int, _: Completion) -> None:
        arrived.append(index)
        if len(arrived) == 7:
            others_done.set()

    with serving(slow_first) as server:
        completions = chat_with(server).complete(ask(*map(str, range(8))), note)
    assert [completion.text for completion in completions] == [f"reply {i}" for i in range(8)]
    assert arrived[-1] == 0
    assert sorted(arrived) == list(range(8))


def test_one_bad_item_does_not_lose_the_others() -> None:
    with serving(lambda body, _: refusal(400, "x") if "3" in body["messages"][0]["content"] else reply("fine")) as server:
        completions = chat_with(server).complete(ask(*map(str, range(6))))
    assert [completion.status for completion in completions] == ["ok"] * 3 + ["error"] + ["ok"] * 2


def test_an_exception_of_on_done_stops_the_batch_and_reaches_the_caller() -> None:
    def stop(index: int, completion: Completion) -> None:
        raise RuntimeError("token budget spent")

    with serving(lambda *_: late(reply("fine"), 0.02)) as server:
        with pytest.raises(RuntimeError, match="budget"):
            chat_with(server, parallel=2).complete(ask(*map(str, range(200))), stop)
        assert len(server.bodies) < 20


def test_it_works_where_an_event_loop_is_already_running() -> None:
    async def inside() -> list[Completion]:
        return chat_with(server).complete(ask("hello"))

    with serving(lambda *_: reply("fine")) as server:
        [completion] = asyncio.run(inside())
    assert completion.text == "fine"


def test_no_requests_need_no_server() -> None:
    assert OpenAICompatibleChat(OpenAISettings("tiny", "http://127.0.0.1:9/v1")).complete([]) == []


def test_the_key_comes_from_the_environment_and_is_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with caplog.at_level(logging.DEBUG), serving(lambda *_: refusal(401, f"bad key {KEY}")) as server:
        chat = chat_with(server, key_variable="MY_KEY")
        [completion] = chat.complete(ask("hello"))
    assert server.keys == [f"Bearer {KEY}"]
    assert "bad key [key]" in completion.error
    assert not any(KEY in text for text in (repr(chat), str(vars(chat)), chat.name, completion.error, caplog.text))


def test_without_a_key_the_hosted_service_is_refused_and_a_local_server_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ValueError, match="set the environment variable OPENAI_API_KEY"):
        OpenAICompatibleChat(OpenAISettings("gpt"))
    completion, server = completion_for(lambda *_: reply("fine"))
    assert completion.text == "fine"
    assert server.keys == ["Bearer EMPTY"]
