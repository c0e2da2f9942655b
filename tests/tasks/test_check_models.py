"""`strata models check` against a real HTTP server and the bundled encoder."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from storage.artifacts import Home
from storage.ledger import Ledger
from tasks.check_models import check_models
from tasks.settings import Settings
from tests.models.llm.server import refusal, reply, serving


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def test_every_configured_model_is_called_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with serving(lambda body, seen: reply("red orange", prompt_tokens=12, completion_tokens=4)) as server:
        spec = f"openai:m@{server.url}?window=4096"
        result = check_models(home, Settings(answerer=spec, judge=spec), proposer=spec)
    assert result["works"]
    assert [entry["role"] for entry in result["models"]] == ["answerer", "judge", "proposer", "embedder"]
    answerer, *_, encoder = result["models"]
    assert (answerer["context_window"], answerer["completion_tokens"], answerer["reply"]) == (4_096, 4, "red orange")
    assert encoder["dimension"] == 384
    assert [(spent.stage, spent.calls) for spent in Ledger(home).totals()] == [("check", 3)]


def test_trouble_is_an_entry_that_says_what_it_is(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        dead = f"openai:m@http://127.0.0.1:{free.getsockname()[1]}/v1?attempts=1"
    with serving(lambda body, seen: refusal(401, "wrong key")) as server:
        settings = Settings(answerer=dead, judge=f"openai:m@{server.url}", embedder="nothing")
        result = check_models(Home(tmp_path), settings, proposer="llamacpp:/missing.gguf")
    assert not result["works"]
    assert [entry["works"] for entry in result["models"]] == [False] * 4
    by_role = {entry["role"]: entry["error"] for entry in result["models"]}
    assert "wrong key" in by_role["judge"]
    assert "missing.gguf" in by_role["proposer"]
    assert "there is no encoder 'nothing'" in by_role["embedder"]
    assert by_role["answerer"]


def test_the_extractive_reader_needs_no_call(tmp_path: Path) -> None:
    result = check_models(Home(tmp_path), Settings())
    assert [(entry["model"], entry["works"]) for entry in result["models"]] == [("extractive", True), ("minilm", True)]
