from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import fsspec
import pytest

from storage.artifacts import MANIFEST, ArtifactError, ArtifactKey, Home, canonical_json, digest


@dataclass(frozen=True)
class Config:
    windows: int = 3


KEY = ArtifactKey("structures", "R", 1, Config(), ("corpus/a", "corpus/b"))


def write(home: Home, text: str = "hello", key: ArtifactKey = KEY) -> str:
    with home.write(key) as draft:
        (draft.folder / "table.txt").write_text(text)
        draft.manifest["rows"] = 1
    return home.folder(key)


@pytest.fixture(params=["local", "memory"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    if request.param == "local":
        return Home(tmp_path / "home")
    fsspec.filesystem("memory").store.clear()
    return Home("memory://bucket/home")


def test_a_written_artifact_has_a_manifest_with_its_files_and_what_the_draft_said(home: Home) -> None:
    folder = write(home)
    manifest = home.manifest(KEY)
    assert manifest is not None
    assert manifest["rows"] == 1
    assert manifest["config"] == {"windows": 3}
    assert manifest["files"]["table.txt"]["bytes"] == 5
    assert home.fs.cat_file(f"{folder}/table.txt") == b"hello"


def test_an_exception_while_writing_leaves_nothing_behind(home: Home) -> None:
    with pytest.raises(RuntimeError, match="half way"):
        _write_and_break_off(home)
    assert not home.has(KEY)
    assert list(home.local("scratch").iterdir()) == []


def _write_and_break_off(home: Home) -> None:
    with home.write(KEY) as draft:
        (draft.folder / "table.txt").write_text("half")
        raise RuntimeError("half way")


def test_a_finished_artifact_is_never_replaced(tmp_path: Path) -> None:
    home = Home(tmp_path)
    folder = write(home, "first")
    write(home, "second")
    assert Path(folder, "table.txt").read_text() == "first"


@pytest.mark.parametrize("damage", ["truncate", "remove", "garble", "no manifest"])
def test_a_damaged_artifact_counts_as_missing_and_can_be_written_again(tmp_path: Path, damage: str) -> None:
    home = Home(tmp_path)
    folder = Path(write(home))
    if damage == "truncate":
        (folder / "table.txt").write_text("he")
    elif damage == "remove":
        (folder / "table.txt").unlink()
    elif damage == "garble":
        (folder / MANIFEST).write_text("{")
    else:
        (folder / MANIFEST).unlink()
    assert not home.has(KEY)
    with pytest.raises(ArtifactError, match="missing or damaged"):
        home.require(KEY)
    write(home)
    assert home.has(KEY)


def test_the_key_changes_with_kind_name_version_config_and_inputs() -> None:
    others = [
        ArtifactKey("derived", "R", 1, Config(), KEY.inputs),
        ArtifactKey("structures", "T", 1, Config(), KEY.inputs),
        ArtifactKey("structures", "R", 2, Config(), KEY.inputs),
        ArtifactKey("structures", "R", 1, Config(windows=4), KEY.inputs),
        ArtifactKey("structures", "R", 1, Config(), ("corpus/a",)),
    ]
    assert len({KEY.path, *(key.path for key in others)}) == 6


def test_digests_do_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": (1, 2)}) == digest({"b": [1, 2], "a": 1})
    assert canonical_json(Config()) == '{"windows":3}'
    with pytest.raises(TypeError, match="cannot be part"):
        digest({"a": object()})


@pytest.mark.parametrize("part", ["/etc", "../x", "a/../../b"])
def test_no_path_leaves_the_home(tmp_path: Path, part: str) -> None:
    with pytest.raises(ValueError, match="leave the home"):
        Home(tmp_path).path("corpora", part)


def test_a_small_file_is_replaced_whole_and_a_damaged_one_is_an_error(home: Home) -> None:
    path = home.path("corpora", "x", "head.json")
    assert home.read_json(path) is None
    home.replace_json(path, {"a": 1})
    home.replace_json(path, {"a": 2})
    assert home.read_json(path) == {"a": 2}
    home.fs.pipe_file(path, json.dumps({"a": 3})[:-1].encode())
    with pytest.raises(ArtifactError, match="damaged"):
        home.read_json(path)
