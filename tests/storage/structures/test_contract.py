"""What every structure promises (`storage/structures/base.py`), checked over the registry."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from fsspec.implementations.local import LocalFileSystem

from storage import schemas
from storage.structures import DEFAULT_LETTERS, STRUCTURES
from storage.structures.base import BLOCK_SEPARATOR, BuildInputs, BuiltShard, Query, Structure
from storage.structures.event_table import EDGES, events_schema
from storage.structures.vector import VectorStructure

STEPS = {
    "kitchen": [
        ("go to cabinet 1", "You open cabinet 1. It holds a golden key."),
        ("take key 1", ""),
        ("look", 'Ünïcödé 🙂 {"braces": {x}} step 99: act'),
        ("go to door 2", "The door 2 is locked. " + "z" * 9_000),
        ("use key 1", "The door 2 opens with the golden key."),
        ("stop", "Done."),
    ],
    "garden": [("walk", "A tree."), ("walk", "A pond."), ("sit", "A bench.")],
}
ODD_QUESTIONS = [
    "",
    " ",
    "?",
    "\x00",
    "🙂🙂",
    "step",
    "step 99",
    "{}[]()",
    "steps 5–2",
    "the of and",
    "x" * 20_000,
    "a\nb\tc",
]
QUESTIONS = ["At step 4, what opened the door?", "Where is the golden key?", "What happened in steps 1-3?", *ODD_QUESTIONS]
DIMENSION = 4


def vector_of(text: str) -> np.ndarray:
    """A made-up embedding: letter counts, normalised."""
    counts = np.array([text.count(letter) for letter in "aeio"], dtype=np.float32) + np.float32(0.5)
    return np.asarray(counts / np.linalg.norm(counts), dtype=np.float32)


def build_inputs() -> BuildInputs:
    steps = [
        {"dataset": "toy", "episode_id": episode, "step": i, "position": i, "action": action, "observation": observation}
        for episode, turns in STEPS.items()
        for i, (action, observation) in enumerate(turns)
    ]
    summaries = [
        {
            "episode_id": episode,
            "segment": 0,
            "first_step": 0,
            "last_step": len(turns) - 1,
            "text": f"turn_id: 0\n{turns[0][1]}",
        }
        for episode, turns in STEPS.items()
    ]
    triples = [
        {"episode_id": episode, "step": i, "head": "agent", "relation": action.split()[0], "tail": action.split()[-1]}
        for episode, turns in STEPS.items()
        for i, (action, _) in enumerate(turns)
    ]
    triples.append({"episode_id": "kitchen", "step": 4, "head": "golden key", "relation": "opens", "tail": "door 2"})
    vectors = [
        {"episode_id": episode, "step": i, "vector": vector_of(f"{action} {observation}").tolist()}
        for episode, turns in STEPS.items()
        for i, (action, observation) in enumerate(turns)
    ]
    events = [
        {"content": f"{action}\n{observation}", "entities": action.split()[1:], **row}
        for row, (action, observation) in zip(vectors, (turn for turns in STEPS.values() for turn in turns), strict=True)
    ]
    return BuildInputs(
        pa.Table.from_pylist(steps, schema=schemas.STEPS),
        {
            "summary": pa.Table.from_pylist(summaries, schema=schemas.SUMMARIES),
            "triples": pa.Table.from_pylist(triples, schema=schemas.TRIPLES),
            "embeddings": pa.Table.from_pylist(vectors, schema=schemas.embeddings(DIMENSION)),
            "events": pa.Table.from_pylist(events, schema=events_schema(DIMENSION)),
        },
    )


def built(structure: Structure, folder: Path) -> BuiltShard:
    folder.mkdir(parents=True)
    inputs = build_inputs()
    given = BuildInputs(inputs.steps, {name: inputs.derived[name] for name in structure.derives})  # and nothing else
    assert structure.build(given, folder) > 0
    shard = BuiltShard(LocalFileSystem(), str(folder), str(folder.parent / "lance"))
    if isinstance(structure, VectorStructure):
        structure.commit([shard])
    return shard


@pytest.fixture(params=STRUCTURES, ids=str)
def structure(request: pytest.FixtureRequest) -> Structure:
    return STRUCTURES[request.param]


@pytest.fixture
def shard(structure: Structure, tmp_path: Path) -> BuiltShard:
    return built(structure, tmp_path / "built")


def test_the_registry_is_in_the_fixed_order_of_subsets() -> None:
    assert list(STRUCTURES) == ["S", "T", "G", "V", "R", "H"]
    assert DEFAULT_LETTERS == ("S", "T", "G", "V", "R")
    assert [structure.letter for structure in STRUCTURES.values()] == list(STRUCTURES)
    assert len({structure.name for structure in STRUCTURES.values()}) == len(STRUCTURES)


def test_settings_are_frozen_and_the_version_is_positive(structure: Structure) -> None:
    assert dataclasses.is_dataclass(structure)
    assert structure.__dataclass_params__.frozen
    assert structure.version >= 1
    assert set(structure.derives) <= {"summary", "triples", "embeddings", "events"}


def test_equal_inputs_give_equal_bytes(structure: Structure, tmp_path: Path) -> None:
    written = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        structure.build(build_inputs(), tmp_path / name)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        written.append({path.name: path.read_bytes() for path in files})
    assert written[0] == written[1] != {}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: repr(question[:20]))
def test_an_access_keeps_the_contract_for_any_question(structure: Structure, shard: BuiltShard, question: str) -> None:
    index = structure.open(shard, "kitchen")
    query = Query(question, vector_of(question), extra_steps=(2, 77) if structure.letter == "T" else ())
    evidence = index.access(query)
    assert evidence == index.access(query) == structure.open(shard, "kitchen").access(query)
    assert set(evidence.steps) <= set(range(len(STEPS["kitchen"])))
    assert len(evidence.steps) == len(set(evidence.steps))
    assert list(evidence.scores) == sorted(evidence.scores, reverse=True)
    assert all(type(step) is int for step in evidence.steps)
    assert all(type(score) is float for score in evidence.scores)
    assert all(evidence.blocks) or not evidence.blocks


def test_blocks_start_where_block_starts_says(structure: Structure, shard: BuiltShard) -> None:
    evidence = structure.open(shard, "kitchen").access(Query(QUESTIONS[1], vector_of(QUESTIONS[1])))
    assert evidence.blocks
    ends = [*evidence.block_starts[1:], len(evidence.text) + len(BLOCK_SEPARATOR)]
    cut = [evidence.text[a : b - len(BLOCK_SEPARATOR)] for a, b in zip(evidence.block_starts, ends, strict=True)]
    assert cut == list(evidence.blocks)


def test_a_long_observation_does_not_come_whole(structure: Structure, shard: BuiltShard) -> None:
    evidence = structure.open(shard, "kitchen").access(Query("At step 3, what about door 2?", vector_of("door 2")))
    assert "z" * 9_000 not in evidence.text


def test_one_episode_never_shows_another(structure: Structure, shard: BuiltShard) -> None:
    question = "Where is the golden key, and what happened at step 1?"
    evidence = structure.open(shard, "garden").access(Query(question, vector_of(question)))
    assert "golden" not in evidence.text
    assert set(evidence.steps) <= {0, 1, 2}


def test_an_unknown_episode_is_a_key_error_that_names_it(structure: Structure, shard: BuiltShard) -> None:
    with pytest.raises(KeyError, match="ghost"):
        structure.open(shard, "ghost")


def test_no_structure_can_see_a_gold_answer() -> None:
    """The types forbid it: a query carries no gold field, and the tables of a build come from no questions."""
    assert {field.name for field in dataclasses.fields(Query)} == {"text", "vector", "extra_steps", "router", "intent"}
    assert {field.name for field in dataclasses.fields(BuildInputs)} == {"steps", "derived"}
    gold = set(schemas.QUESTIONS.names) - {"dataset", "episode_id", "extra"}
    for schema in (
        schemas.STEPS,
        schemas.SUMMARIES,
        schemas.TRIPLES,
        schemas.embeddings(DIMENSION),
        events_schema(DIMENSION),
        EDGES,
    ):
        assert gold.isdisjoint(schema.names)
