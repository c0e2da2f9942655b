"""Forgetting episodes from a home with everything in it: a real Prefect server, MLflow store, LanceDB and a model's journals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.build_memory import build_memory
from flows.evaluate_policy import evaluate_policy
from flows.ingest_episodes import ingest_episodes
from storage.artifacts import Home
from tasks.evaluation import EvaluationConfig
from tasks.forget import forget
from tasks.settings import Settings
from tests.fakes import ama_row
from tests.flows.test_build_with_models import script
from tests.models.llm.server import FakeServer, Say, reply, serving

pytestmark = pytest.mark.usefixtures("prefect_server")

STRUCTURES = ("S", "T", "G", "V", "R", "H")
SECRETS = {i: f"Passphrase of vault {i} is walrus marmalade number {i} for ever" for i in range(4)}


def write_episodes(path: Path, indices: Any) -> Path:
    path.write_text("".join(json.dumps(ama_row(i, note=f"{SECRETS[i]}. Käse <b>&amp;</b> {i}.")) + "\n" for i in indices))
    return path


def quoting(body: dict[str, Any], seen: int) -> Say:
    """A model that repeats what it was shown, so that its words are the episode's."""
    text = body["messages"][-1]["content"]
    shown = next((secret for secret in SECRETS.values() if secret in text), "nothing")
    said = script(body, seen)
    if said.body["choices"][0]["message"]["content"].startswith("{"):
        return said
    return reply(f"Answer: {shown}", prompt_tokens=10, completion_tokens=2)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Iterator[tuple[Home, Settings, FakeServer]]:
    """Four episodes in two shards, one of them superseded once, built and answered with a language model."""
    folder = tmp_path_factory.mktemp("forget")
    home = Home(folder / "home")
    with serving(quoting) as server:
        spec = f"openai:m@{server.url}"
        by_model = ("summary", "triples", "events")
        settings = Settings(builder=spec, built_by_model=by_model, checker=spec, answerer=spec)
        ingest_episodes("ama-bench", str(write_episodes(folder / "first.jsonl", range(3))), home.url, settings)
        old = ama_row(3, note="The drawing room was painted in viridian ochre last spring")
        (folder / "second.jsonl").write_text(json.dumps(old) + "\n")
        ingest_episodes("ama-bench", str(folder / "second.jsonl"), home.url, settings)
        ingest_episodes("ama-bench", str(write_episodes(folder / "third.jsonl", [3])), home.url, settings)
        build_memory("ama-bench", home.url, STRUCTURES, settings)
        evaluate(home, settings)
        yield home, settings, server


def evaluate(home: Home, settings: Settings) -> dict[str, Any]:
    config = EvaluationConfig(policies=("all", "T"), structures=STRUCTURES)
    return evaluate_policy("ama-bench", home.url, config, settings)


def copy(home: Home, folder: Path) -> Home:
    home.fs.copy(home.root, str(folder / "home"), recursive=True)
    return Home(folder / "home")


def test_forget(full: tuple[Home, Settings, FakeServer], tmp_path: Path) -> None:
    source, settings, server = full
    home = copy(source, tmp_path)
    result = forget(home, "ama-bench", ("1",), settings)
    print(result)
    assert result["traces_left"] == 0
    calls = len(server.bodies)
    report = build_memory("ama-bench", home.url, STRUCTURES, settings)
    assert report["built"] == 0
    assert len(server.bodies) == calls
    evaluate(home, settings)
    assert len(server.bodies) == calls
