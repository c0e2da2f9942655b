"""What can be wrong with a home, named, and made right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import lancedb
import pytest

from storage.artifacts import MANIFEST, Home
from storage.shards import load_dataset
from storage.verify import Problem
from tasks.settings import Settings
from tasks.verify import repair, verify
from tests.input_cases.pipeline import Pipeline
from tests.tasks.conftest import run


def one(home: Home, pattern: str) -> Path:
    """The first file of the home that matches."""
    return sorted(Path(home.root).glob(pattern))[0]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(bytes(data))


def test_a_whole_home_has_no_problem(pipeline: Pipeline) -> None:
    assert verify(pipeline.home) == []


@pytest.mark.parametrize(
    ("pattern", "damage", "what"),
    [
        ("structures/R/*/*/table.parquet", flip, "its content has changed (SHA-256)"),
        ("derived/triples/*/*/table.parquet", cut, "bytes instead of"),
        ("evidence/T/*/*/table.parquet", Path.unlink, "table.parquet: missing"),
        ("structures/V/*/*/manifest.json", cut, "its manifest is damaged"),
        ("answers/*/*/*/manifest.json", Path.unlink, "half-written: it has no manifest"),
    ],
)
def test_a_damaged_artifact_is_named_removed_and_made_again(
    pipeline: Pipeline, pattern: str, damage: Callable[[Path], None], what: str
) -> None:
    home = pipeline.home
    victim = one(home, pattern)
    before = victim.read_bytes()
    damage(victim)
    [problem] = verify(home)
    assert home.path(problem.path) == str(victim.parent)
    assert what in problem.what
    assert "strata status --repair" in problem.do
    assert repair(home, pipeline.settings)["left"] == []
    assert not victim.parent.exists()
    run(pipeline)
    assert verify(home) == []
    if victim.name != MANIFEST and "evidence" not in pattern:
        assert victim.read_bytes() == before


def test_a_damaged_shard_is_set_aside_and_comes_back_with_its_source(pipeline: Pipeline, finished: Pipeline) -> None:
    home = pipeline.home
    flip(one(home, "corpus/*/*/*/steps.parquet"))
    [problem] = verify(home)
    assert "ingest the source again" in problem.do
    result = repair(home, pipeline.settings)
    assert result["left"] == []
    assert Path(result["set_aside"], problem.path, "steps.parquet").is_file()
    assert problem.path not in {shard.key for shard in load_dataset(home, "ama-bench").shards}


def test_a_damaged_head_is_written_again_from_the_shards(pipeline: Pipeline, finished: Pipeline) -> None:
    cut(Path(pipeline.home.path("corpora", "ama-bench", "head.json")))
    [problem] = verify(pipeline.home)
    assert (problem.path, problem.repair) == ("corpora/ama-bench/head.json", "head")
    assert repair(pipeline.home, pipeline.settings)["left"] == []
    assert set(pipeline.live.live) == set(finished.live.live)


def test_vectors_that_are_not_those_of_the_builds_are_made_again(pipeline: Pipeline, finished: Pipeline) -> None:
    table = lancedb.connect(pipeline.home.path("vectors")).open_table("minilm")
    rows = table.count_rows()
    table.delete("episode_id = '2' AND step < 3")
    [problem] = verify(pipeline.home)
    assert problem.path == "vectors/minilm"
    assert repair(pipeline.home, pipeline.settings)["left"] == []
    assert lancedb.connect(pipeline.home.path("vectors")).open_table("minilm").count_rows() == rows


def test_a_vector_file_that_cannot_be_read_is_made_again(pipeline: Pipeline) -> None:
    for path in Path(pipeline.home.root).glob("vectors/minilm.lance/data/*.lance"):  # old versions have some of their own
        cut(path)
    [problem] = verify(pipeline.home)
    assert "LanceDB cannot read it" in problem.what
    assert repair(pipeline.home, pipeline.settings)["left"] == []


def test_a_journal_keeps_its_readable_lines(pipeline: Pipeline) -> None:
    path = one(pipeline.home, "journal/answer/*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"\x00\x00{torn\n", *lines[1:], b'{"key": "torn by a ki']))
    [problem] = verify(pipeline.home)
    assert problem.what == "line 2 cannot be read"
    assert repair(pipeline.home, pipeline.settings)["left"] == []
    assert path.read_bytes().splitlines(keepends=True) == lines


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("corpora/ama-bench/router.json", "names a router that is missing"),
        ("policies/ama-bench/champion.json", "cannot be read"),
        ("catalog.duckdb", "DuckDB cannot read it"),
        ("mlflow/mlflow.db", "SQLite cannot read it"),
    ],
)
def test_other_files_are_set_aside_or_written_again(pipeline: Pipeline, name: str, problem: str) -> None:
    path = Path(pipeline.home.root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"router": "routers/x/v1-0/0"}' if name.endswith("router.json") else "{broken" * 200)
    [found] = verify(pipeline.home)
    assert (found.path, problem in found.what) == (name, True)
    assert repair(pipeline.home, pipeline.settings)["left"] == []


def test_drafts_of_dead_processes_are_named_and_removed(pipeline: Pipeline) -> None:
    code = f"""
import os
from storage.artifacts import ArtifactKey, Home
with Home({pipeline.home.root!r}).write(ArtifactKey("structures", "R", 1)) as draft:
    (draft.folder / "half.parquet").write_text("half")
    os._exit(9)
"""
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(root)}, cwd=root, check=False)
    [problem] = verify(pipeline.home)
    assert problem.path.startswith("scratch/draft-")
    assert repair(pipeline.home, Settings())["left"] == []


def test_a_forgetting_that_was_stopped_is_named_with_its_command(pipeline: Pipeline) -> None:
    pipeline.home.replace_json(pipeline.home.path("forgetting", "x.json"), {"dataset": "ama-bench", "episodes": ["1"]})
    [problem] = verify(pipeline.home)
    assert problem == Problem(
        "forgetting",
        "forgetting of ama-bench was stopped half way",
        "run `strata forget 1 --dataset ama-bench` again",
    )
    assert len(repair(pipeline.home, pipeline.settings)["left"]) == 1


def test_a_manifest_that_belongs_elsewhere_is_named(pipeline: Pipeline) -> None:
    path = one(pipeline.home, "structures/G/*/*/manifest.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "inputs": ["corpus/other"]}))
    [problem] = verify(pipeline.home)
    assert "its manifest is that of structures/G/" in problem.what
