"""What changed, and what is made again because of it: exactly that, in artifacts, rows and calls of models (README).

Four episodes of 12 steps and 4 questions in two shards, five structures, two policies, answered and judged by a model behind
a real HTTP server. A call that is not listed was not made: its completion is in the journal, or its artifact is untouched.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from models.embedders import embedder
from models.extract.digest import DigestConfig
from models.judge import JudgeConfig
from storage.artifacts import MANIFEST, Home
from storage.shards import ShardConfig
from tasks.settings import Settings
from tests.fakes import ama_row
from tests.input_cases.encoder import RecordingEncoder
from tests.input_cases.pipeline import Pipeline, write_jsonl
from tests.models.llm.server import FakeServer, Say, reply, serving

Made = dict[str, tuple[int, int]]
"""Stage to (artifacts, rows)."""


def of_one_episode(steps: int, triples: int) -> Made:
    """What is read, derived and built of an episode in a shard of its own."""
    rows = {"S": 1, "T": steps, "G": triples, "V": steps, "R": steps}
    return {
        "corpus/ama-bench": (1, 1),
        "derived/summary": (1, 1),
        "derived/triples": (1, triples),
        "derived/embeddings": (1, steps),
        "derived/question_vectors": (1, 4),
        **{f"structures/{letter}": (1, n) for letter, n in rows.items()},
        **{f"evidence/{letter}": (1, 4) for letter in rows},
    }


def scored(artifacts: int, rows: int) -> Made:
    """Answers, and the scores of each."""
    return dict.fromkeys(("answers", "outcomes/judge", "outcomes/support"), (artifacts, rows))


def script(body: dict[str, Any], seen: int) -> Say:
    """The judge's requests say that they want a verdict; the others want an answer."""
    return reply("yes" if _is_judging(body) else "Answer: the lamp", prompt_tokens=10, completion_tokens=2)


def _is_judging(body: dict[str, Any]) -> bool:
    return "Predicted Answer: " in body["messages"][-1]["content"]


@dataclass
class World:
    """A home, the rows of its source, the settings, and the model's server."""

    home: Home
    rows: list[dict[str, Any]]
    settings: Settings
    server: FakeServer
    letters: str = "STGVR"

    def run(self, folder: Path) -> tuple[Made, Counter[str]]:
        """Ingest, build, answer and judge; return the new artifacts with their rows by stage, and the calls of models."""
        before, calls = set(manifests(self.home)), len(self.server.bodies)
        pipeline = Pipeline(self.home, settings=self.settings)
        pipeline.ingest(write_jsonl(folder / "episodes.jsonl", self.rows))
        pipeline.build(self.letters)
        pipeline.evaluate("+".join(self.letters), "T", metric="judge", letters=self.letters)
        new: Made = {}
        for key in set(manifests(self.home)) - before:
            manifest = json.loads(Path(self.home.path(key, MANIFEST)).read_text())
            stage = "answers" if manifest["kind"] == "answers" else f"{manifest['kind']}/{manifest['name']}"
            artifacts, rows = new.get(stage, (0, 0))
            new[stage] = artifacts + 1, rows + manifest.get("rows", manifest.get("episodes", 0))
        asked = Counter("judge" if _is_judging(body) else "answer" for body in self.server.bodies[calls:])
        return new, asked


def manifests(home: Home) -> list[str]:
    root = Path(home.root)
    return [path.parent.relative_to(root).as_posix() for path in root.glob(f"*/*/*/*/{MANIFEST}")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A finished run over four episodes in two shards."""

    def encoder(spec: str) -> RecordingEncoder:
        made = RecordingEncoder()
        made.name = embedder(spec).name
        return made

    folder = tmp_path_factory.mktemp("incremental")
    with pytest.MonkeyPatch.context() as patch, serving(script) as server:
        patch.setattr("tasks.derivations.embedder", encoder)
        spec = f"openai:m@{server.url}"
        settings = Settings(answerer=spec, judge=spec, shards=ShardConfig(max_episodes=2))
        world = World(Home(folder / "home"), [ama_row(i) for i in range(4)], settings, server)
        world.run(folder)
        assert len([key for key in manifests(world.home) if key.startswith("corpus/")]) == 2
        yield world


@pytest.fixture
def world(finished: World, tmp_path: Path) -> World:
    """A copy of the finished run that may change."""
    home = tmp_path / "home"
    shutil.copytree(finished.home.root, home)
    return replace(finished, home=Home(home), rows=copy.deepcopy(finished.rows))


def test_nothing_changed(world: World, tmp_path: Path) -> None:
    assert world.run(tmp_path) == ({}, Counter())


def append_step(world: World) -> None:
    world.rows[1]["trajectory"].append({"turn_idx": 12, "action": "wave", "observation": "Nobody waves back."})


def add_episode(world: World) -> None:
    world.rows.append(ama_row(4))


def change_question(world: World) -> None:
    world.rows[1]["qa_pairs"][0]["question"] = "At step 1, what was it that the agent took?"


def change_encoder(world: World) -> None:
    world.settings = replace(world.settings, embedder="openai:other@http://127.0.0.1:9/v1")


def change_judge_prompt(world: World) -> None:
    world.settings = replace(world.settings, judging=JudgeConfig(examples=True))


def add_structure(world: World) -> None:
    world.letters = "STGVRH"


def change_windows(world: World) -> None:
    world.settings = replace(world.settings, structures={"R": {"max_windows": 1}})


def change_digest(world: World) -> None:
    world.settings = replace(world.settings, digest=DigestConfig(max_chars=9_000))


MOVED = scored(4, 16)
"""Of the shard that an episode leaves, the answers of the others are written again, from the journal; and its own."""

CHANGES: dict[str, tuple[Callable[[World], None], Made, dict[str, int]]] = {
    "an appended step": (append_step, {**of_one_episode(13, 38), **MOVED}, {"answer": 4}),
    "a new episode": (add_episode, {**of_one_episode(12, 36), **scored(2, 8)}, {"answer": 8, "judge": 4}),
    "a changed question": (change_question, {**of_one_episode(12, 36), **MOVED}, {"answer": 2, "judge": 1}),
    "a new encoder": (
        change_encoder,
        {
            "derived/embeddings": (2, 48),
            "derived/question_vectors": (2, 16),
            "structures/V": (2, 48),
            "evidence/V": (2, 16),
            **scored(2, 16),
        },
        {},
    ),
    "a new judge prompt": (change_judge_prompt, {"outcomes/judge": (4, 32)}, {"judge": 16}),
    "a new structure": (
        add_structure,
        {"derived/events": (2, 48), "structures/H": (2, 368), "evidence/H": (2, 16), **scored(2, 16)},
        {"answer": 16},
    ),
    "a changed number of windows": (
        change_windows,
        {"structures/R": (2, 48), "evidence/R": (2, 16), **scored(2, 16)},
        {"answer": 16},
    ),
    "a changed digest": (
        change_digest,
        {"derived/summary": (2, 4), "structures/S": (2, 4), "evidence/S": (2, 16), **scored(2, 16)},
        {},
    ),
}
"""The change, the new artifacts, and the calls: a prompt that did not change is answered from the journal."""


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_makes_again_exactly_what_depends_on_it(world: World, tmp_path: Path, name: str) -> None:
    change, expected, calls = CHANGES[name]
    change(world)
    made, asked = world.run(tmp_path)
    assert made == expected
    assert asked == Counter(calls)
