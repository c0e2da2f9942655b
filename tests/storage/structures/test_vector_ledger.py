"""The ledger of committed builds: it spares LanceDB, and it never vouches for a table that changed behind it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import lancedb
import pytest

from storage.structures.base import BuiltShard
from storage.structures.vector import VectorStructure
from tests.storage.structures.test_vector import build

V = VectorStructure()


@pytest.fixture
def shards(tmp_path: Path) -> list[BuiltShard]:
    """Two builds, the first of which is committed."""
    made = [build(tmp_path, name, {"a": 3}) for name in ("s0", "s1")]
    V.commit(made[:1])
    return made


def test_only_committed_builds_are_known(shards: list[BuiltShard]) -> None:
    assert V.is_committed(shards[:1])
    assert not V.is_committed(shards)
    V.commit(shards)
    assert V.is_committed(shards)


def test_nothing_is_known_before_the_first_commit(tmp_path: Path) -> None:
    assert not V.is_committed([build(tmp_path, "s0", {"a": 3})])
    assert V.is_committed([])


def test_a_table_that_was_removed_is_not_trusted(shards: list[BuiltShard]) -> None:
    shutil.rmtree(Path(shards[0].vectors) / "minilm.lance")
    assert not V.is_committed(shards[:1])
    assert V.commit(shards[:1]) == 3
    assert V.is_committed(shards[:1])


def test_rows_deleted_by_another_program_are_committed_again(shards: list[BuiltShard]) -> None:
    lancedb.connect(shards[0].vectors).open_table("minilm").delete("episode_id = 'a'")
    assert not V.is_committed(shards[:1])
    assert V.commit(shards[:1]) == 3


@pytest.mark.parametrize("text", ["", "{", "[]", '{"versions": [], "shards": ["v1-settings/s0"]}'])
def test_a_damaged_ledger_says_nothing(shards: list[BuiltShard], text: str) -> None:
    (Path(shards[0].vectors) / "minilm.shards.json").write_text(text, encoding="utf-8")
    assert not V.is_committed(shards[:1])
    assert V.commit(shards[:1]) == 0
    assert V.is_committed(shards[:1])


def test_asking_does_not_load_lancedb(shards: list[BuiltShard]) -> None:
    code = (
        "import sys; from fsspec.implementations.local import LocalFileSystem\n"
        "from storage.structures.base import BuiltShard; from storage.structures.vector import VectorStructure\n"
        f"shard = BuiltShard(LocalFileSystem(), {shards[0].folder!r}, {shards[0].vectors!r})\n"
        "print(VectorStructure().is_committed([shard]), 'lancedb' in sys.modules)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
