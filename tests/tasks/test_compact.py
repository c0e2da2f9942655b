"""Compacting: fewer shards, the same rows, nothing computed or paid for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import lancedb

from storage.catalog import read_table
from storage.shards import load_dataset
from tasks.compact import compact
from tasks.forget import forget
from tasks.inventory import table_parts
from tasks.verify import verify
from tests.input_cases.pipeline import Pipeline
from tests.tasks.conftest import LETTERS, run

TABLES = ("steps", "questions", "summary", "triples", "embeddings", "evidence")


def rows(pipeline: Pipeline, table: str) -> list[dict[str, Any]]:
    """The live rows of a table, but for the shard's name."""
    dataset = load_dataset(pipeline.home, pipeline.dataset)
    found = read_table(pipeline.home, table_parts(pipeline.home, dataset, table, pipeline.settings)).to_pylist()
    return sorted(found, key=str)


def test_many_shards_become_few_with_the_same_rows(pipeline: Pipeline) -> None:
    before = {table: rows(pipeline, table) for table in TABLES}
    live = pipeline.live.digest
    outcomes = pipeline.evaluate("T", letters=LETTERS)
    result = compact(pipeline.home, "ama-bench", pipeline.settings)
    assert (result["shards_before"], result["shards_after"], result["superseded"]) == (5, 2, 1)
    assert {table: rows(pipeline, table) for table in TABLES} == before
    assert pipeline.live.digest == live
    assert pipeline.build(LETTERS) == []
    assert pipeline.evaluate("T", letters=LETTERS) == outcomes
    assert verify(pipeline.home) == []
    assert b"gingerbread" not in _bytes_of_vectors(pipeline)
    again = compact(pipeline.home, "ama-bench", pipeline.settings)
    assert (again["shards_after"], again["artifacts_carried"], again["artifacts_removed"]) == (2, 0, 0)


def _bytes_of_vectors(pipeline: Pipeline) -> bytes:
    table = lancedb.connect(pipeline.home.path("vectors")).open_table("minilm")
    assert table.count_rows() == 4 * 12
    return b"".join(path.read_bytes() for path in Path(pipeline.home.path("vectors")).rglob("*.lance") if path.is_file())


def test_answers_are_carried_over_too(pipeline: Pipeline) -> None:
    pipeline.evaluate("T", letters=LETTERS)
    compact(pipeline.home, "ama-bench", pipeline.settings)
    plans = pipeline.plan("S+T+G+V+R", "T", letters=LETTERS).plans
    assert len(plans) == 4
    assert all(pipeline.home.has(key) for plan in plans for key in (plan.answers, plan.outcomes, plan.support))


def test_a_shard_that_lacks_a_structure_waits(pipeline: Pipeline) -> None:
    last = pipeline.live.shards[-1]
    for path in Path(pipeline.home.root, "structures", "G").glob("*/*/manifest.json"):
        if last.key in path.read_text():
            pipeline.home.discard(path.parent.relative_to(pipeline.home.root).as_posix())
    compact(pipeline.home, "ama-bench", pipeline.settings)
    assert [len(shard.episodes) for shard in pipeline.live.shards] == [3, 1]
    assert pipeline.live.shards[-1].key == last.key


def test_forgetting_after_compacting_keeps_the_others(pipeline: Pipeline) -> None:
    settings = replace(pipeline.settings, shards=replace(pipeline.settings.shards, max_episodes=4))
    compact(pipeline.home, "ama-bench", settings)
    assert len(pipeline.live.shards) == 1
    result = forget(pipeline.home, "ama-bench", ("2",), settings)
    assert result["remnants_left"] == 0
    assert list(pipeline.live.live) == ["0", "1", "3"]
    assert pipeline.build(LETTERS) == []
    run(pipeline)
    assert verify(pipeline.home) == []
