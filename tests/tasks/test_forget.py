"""Forgetting beside what must stay: another data set with the same ids, a trained router. The proof is in tests/flows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.router.weights import RouterWeights, dump_weights, load_weights
from storage.artifacts import ArtifactError, ArtifactKey
from storage.structures.event_signals import SIGNALS
from storage.structures.events import INTENTS, RELATIONS
from tasks.compact import compact
from tasks.forget import forget
from tasks.routers import FOLDS_FILE, champion_path, fold_file, load_routers
from tasks.verify import verify
from tests.flows.leaks import leaks
from tests.input_cases.pipeline import Pipeline, conversation, said


def test_an_episode_of_another_data_set_with_the_same_id_stays(pipeline: Pipeline, tmp_path: Path) -> None:
    turns = [said("D1:1", "Ann", "I painted a sunrise over the bay.")]
    pair = {"question": "What did Ann paint?", "answer": "a sunrise", "evidence": ["D1:1"], "category": 4}
    talk = conversation([("1:56 pm on 8 May, 2023", turns)], pair, sample_id="1")
    (tmp_path / "talk.json").write_text(json.dumps([talk]))
    other = Pipeline(pipeline.home, "locomo", pipeline.settings)
    other.ingest(tmp_path / "talk.json")
    other.build("STGVR")
    assert forget(pipeline.home, "ama-bench", ("1",), pipeline.settings)["remnants_left"] == 0
    assert list(other.live.live) == ["1"]
    assert other.build("STGVR") == []
    assert leaks(Path(pipeline.home.root), ["sunrise over the bay"]).keys() >= {"corpus", "structures", "vectors"}
    assert verify(pipeline.home) == []


def test_a_trained_router_loses_what_it_learned_of_the_episode_and_stays_in_use(pipeline: Pipeline) -> None:
    home, key = pipeline.home, ArtifactKey("routers", "ama-bench", 1, None, ("training/x",))
    known = {"signals": SIGNALS, "relations": RELATIONS, "intents": INTENTS, "preset": "paper", "mode": "joint"}
    arrays = {f"edges/{episode}": np.ones((2, 4), np.float32) for episode in ("1", "2")}
    header = {**known, "graphs": {"1": "a" * 16, "2": "b" * 16}}
    with home.write(key) as draft:
        (draft.folder / fold_file(0)).write_bytes(dump_weights(RouterWeights(header, arrays)))
        folds = {"folds": [{"index": 0, "train": ["0", "1"], "validation": ["3"], "test": ["2"]}], "best": 0}
        (draft.folder / FOLDS_FILE).write_text(json.dumps(folds))
    home.replace_json(champion_path(home, "ama-bench"), {"router": str(key), "embedder": "minilm"})
    forget(home, "ama-bench", ("1",), pipeline.settings)
    weights = load_weights(Path(home.require(key), fold_file(0)).read_bytes())
    assert (set(weights.arrays), weights.header["graphs"]) == ({"edges/2"}, {"2": "b" * 16})
    assert json.loads(Path(home.require(key), FOLDS_FILE).read_text())["folds"][0]["train"] == ["0"]
    assert len(load_routers(home, str(key)).folds) == 1
    assert verify(home) == []


def test_traces_in_a_place_that_forgetting_does_not_know_are_named(pipeline: Pipeline) -> None:
    note = Path(pipeline.home.root, "notes.txt")
    note.write_text("The porter of room 1 hums an old waltz.")
    with pytest.raises(ArtifactError, match=r"1 files of .* still hold remnants .*: notes\.txt"):
        forget(pipeline.home, "ama-bench", ("1",), pipeline.settings)
    assert [problem.path for problem in verify(pipeline.home)] == ["forgetting"]
    note.unlink()
    assert forget(pipeline.home, "ama-bench", ("1",), pipeline.settings)["remnants_left"] == 0


def test_what_was_damaged_is_not_carried_over_and_is_made_again(pipeline: Pipeline) -> None:
    settings = replace(pipeline.settings, shards=replace(pipeline.settings.shards, max_episodes=4))
    compact(pipeline.home, "ama-bench", settings)
    for path in Path(pipeline.home.root).glob("derived/triples/*/*/table.parquet"):
        path.unlink()
    forget(pipeline.home, "ama-bench", ("1",), settings)
    assert sorted(f"{key.kind}/{key.name}" for key in pipeline.build("STGVR")) == [
        "derived/triples",
        "evidence/G",
        "structures/G",
    ]
    assert verify(pipeline.home) == []


def test_several_episodes_are_forgotten_at_once(pipeline: Pipeline) -> None:
    forget(pipeline.home, "ama-bench", ("0", "2"), pipeline.settings)
    assert list(replace(pipeline).live.live) == ["1", "3"]
    assert leaks(Path(pipeline.home.root), ["gingerbread", "room 2", "ama-bench/0/"]) == {}
