"""Sweep and ablation with a language model behind a real HTTP server that fails where it is told to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.ablate_selector import ablate_selector
from flows.build_memory import build_memory
from flows.ingest_episodes import ingest_episodes
from flows.sweep_subsets import sweep_subsets
from storage.artifacts import ArtifactError, Home
from tasks.search import finished_sweep
from tasks.selector_config import SelectorConfig, SweepConfig
from tasks.settings import Settings
from tests.fakes import write_ama
from tests.models.llm.server import Say, refusal, reply, serving

pytestmark = pytest.mark.usefixtures("prefect_server")

STRUCTURES = ("T", "R")
SWEEP = SweepConfig(STRUCTURES, metric="exact_match")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    ingest_episodes("ama-bench", str(write_ama(tmp_path / "episodes.jsonl", range(10))), home.url)
    build_memory("ama-bench", home.url, STRUCTURES)
    return home


def test_a_sweep_asks_again_for_what_failed_and_for_nothing_else(home: Home) -> None:
    broken = True

    def script(body: dict[str, Any], seen: int) -> Say:
        return refusal(400, "no") if broken and len(server.bodies) == 7 else reply("an answer")

    with serving(script) as server:
        settings = Settings(answerer=f"openai:m@{server.url}")
        first = sweep_subsets("ama-bench", home.url, SWEEP, settings)
        assert (first["outcomes"], first["errors"]) == (120, 1)
        usable = finished_sweep(home, "ama-bench", SelectorConfig(STRUCTURES, metric="exact_match"), settings)
        assert (usable.missing, usable.errors(home)) == (0, 1)

        broken, asked = False, len(server.bodies)
        second = sweep_subsets("ama-bench", home.url, SWEEP, settings)
        assert (second["outcomes"], second["errors"]) == (120, 0)
        assert len(server.bodies) == asked + 1
        again = sweep_subsets("ama-bench", home.url, SWEEP, settings)
        assert (again["new"], len(server.bodies)) == (0, asked + 1)


def test_an_unfinished_sweep_cannot_be_searched(home: Home) -> None:
    with pytest.raises(ArtifactError, match="120 outcomes of ama-bench are missing"):
        finished_sweep(home, "ama-bench", SelectorConfig(STRUCTURES, metric="exact_match"), Settings())


def test_the_zero_shot_row_asks_once_per_question_and_counts_bad_replies(home: Home) -> None:
    def script(body: dict[str, Any], seen: int) -> Say:
        return reply(json.dumps({"structures": ["T"]}) if len(server.bodies) % 4 else "the temporal one")

    selector = SelectorConfig(STRUCTURES, metric="support", iterations=1)
    sweep_subsets("ama-bench", home.url, selector.sweep)
    with serving(script) as server:
        table = ablate_selector("ama-bench", home.url, selector, Settings(), f"openai:m@{server.url}")
        rows = {row["name"]: row for row in table["rows"]}
        prompts = [body["messages"][-1]["content"] for body in server.bodies]
        assert len(prompts) == len(set(prompts)) <= 40
        assert rows["zero_shot"]["questions"] == 5 * 24
        assert 0 < rows["zero_shot"]["invalid"] < 60
        assert 1 < rows["zero_shot"]["structures"] < 2
        ablate_selector("ama-bench", home.url, selector, Settings(), f"openai:m@{server.url}")
        assert len(server.bodies) == len(prompts)
