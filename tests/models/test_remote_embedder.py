"""An `/embeddings` endpoint played by a real HTTP server."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.embedders import QUERY_INSTRUCTION, embedder
from models.remote_embedder import RemoteEmbedder, RemoteSettings
from tests.models.llm.server import FakeServer, Say, refusal, serving


def vectors(body: dict[str, Any], scale: float = 5.0) -> Say:
    """A vector per text that tells its length and its first letter, in reverse order, as servers may send them."""
    data = [
        {"object": "embedding", "index": i, "embedding": [scale * len(text), scale * ord(text[0]), 0.0]}
        for i, text in enumerate(body["input"])
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return Say(body={"object": "list", "model": "m", "data": data[::-1], "usage": usage})


def remote(server: FakeServer, **changes: Any) -> RemoteEmbedder:
    return RemoteEmbedder(RemoteSettings("m", server.url, **{"retries": 2, **changes}))


@pytest.fixture(autouse=True)
def play_embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chat server's bookkeeping looks at messages; an embeddings request has `input` instead."""
    monkeypatch.setattr(FakeServer, "seen", lambda self, body: sum(b == body for b in self.bodies) - 1)


def test_rows_have_length_one_and_the_order_of_the_texts() -> None:
    with serving(lambda body, seen: vectors(body)) as server:
        found = remote(server, batch=2).embed_documents(["aaa", "b", "aaa", "cc"])
        assert [body["input"] for body in server.bodies] == [["aaa", "b"], ["cc"]]
    expected = np.array([[3, ord("a"), 0], [1, ord("b"), 0], [3, ord("a"), 0], [2, ord("c"), 0]], dtype=np.float32)
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)


def test_questions_get_the_instruction_and_blank_ones_a_row_of_zeros() -> None:
    with serving(lambda body, seen: vectors(body)) as server:
        found = remote(server, query_instruction="Q: ").embed_queries(["who?", " "])
        assert server.bodies[-1]["input"] == ["Q: who?"]
    assert found.shape == (2, 3)
    assert not found[1].any()


def test_a_server_under_load_is_asked_again() -> None:
    with serving(lambda body, seen: refusal(503, "later", retry_after="0") if seen == 0 else vectors(body)) as server:
        assert remote(server).embed_documents(["a"]).shape == (1, 3)
        assert len(server.bodies) == 2


@pytest.mark.parametrize("said", [refusal(401, "wrong key"), vectors({"input": []}), vectors({"input": ["a"]}, scale=0.0)])
def test_what_gives_no_vectors_is_an_error_that_names_the_model(said: Say) -> None:
    with serving(lambda body, seen: said) as server, pytest.raises(OSError, match="openai:m"):
        remote(server, retries=0).embed_documents(["a"])


def test_long_texts_are_cut_and_empty_ones_refused() -> None:
    with serving(lambda body, seen: vectors(body)) as server:
        encoder = remote(server, max_chars=10)
        encoder.embed_documents(["x" * 50])
        assert server.bodies[-1]["input"] == ["x" * 10]
        with pytest.raises(ValueError, match="text 1 of 2 is empty"):
            encoder.embed_documents(["a", "  "])


def test_the_name_says_model_but_not_address() -> None:
    found = embedder("openai:Qwen/Qwen3-Embedding-4B@http://gpu:8000/v1")
    assert isinstance(found, RemoteEmbedder)
    assert found.name == "openai:Qwen/Qwen3-Embedding-4B"
    assert found._settings.query_instruction == QUERY_INSTRUCTION
