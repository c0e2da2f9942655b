"""`strata status --verify`, `--repair`, `forget` and `compact` as a user calls them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from flows.cli import main
from storage.artifacts import Home
from tests.fakes import write_ama
from tests.input_cases.pipeline import Pipeline


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Three episodes in two shards, with T and R."""
    pipeline = Pipeline(Home(tmp_path / "home"))
    for indices in ((0, 1), (2,)):
        pipeline.ingest(write_ama(tmp_path / "episodes.jsonl", indices))
    pipeline.build("TR")
    monkeypatch.setenv("STRATA_HOME", pipeline.home.root)
    return pipeline.home


@pytest.fixture
def strata(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """The command in this process: its exit code, what it printed, and what it complained about."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["strata", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


def test_verify_names_the_damage_and_repair_ends_it(home: Home, strata) -> None:  # type: ignore[no-untyped-def]
    assert strata("status", "--verify")[0] == 0
    victim = next(Path(home.root).glob("structures/R/*/*/table.parquet"))
    victim.write_bytes(victim.read_bytes()[:-9])
    code, printed, _ = strata("status", "--verify")
    assert code == 1
    assert victim.parent.relative_to(home.root).as_posix() in printed
    assert "bytes instead of" in printed
    assert "strata status --repair" in printed
    code, printed, _ = strata("status", "--repair", "--json")
    assert (code, json.loads(printed)["left"]) == (0, [])
    assert strata("status", "--verify")[0] == 0


def test_forget_says_what_went_and_compact_what_became_of_the_shards(home: Home, strata) -> None:  # type: ignore[no-untyped-def]
    code, printed, _ = strata("forget", "1", "--dataset", "ama-bench")
    assert code == 0
    assert "forgotten: 1 episodes of ama-bench" in printed
    code, printed, _ = strata("compact", "--dataset", "ama-bench", "--json")
    result = json.loads(printed)
    assert (code, result["shards_before"], result["shards_after"]) == (0, 2, 1)
    assert strata("forget", "--dataset", "ama-bench", "--all")[0] == 0
    assert json.loads(strata("status", "--json")[1])["datasets"] == []


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("forget", "77", "--dataset", "ama-bench"), 1, "episode '77' is not in ama-bench"),
        (("forget", "--dataset", "ama-bench"), 2, "--all"),
        (("forget", "1", "--all", "--dataset", "ama-bench"), 2, "--all"),
        (("forget", "1", "--dataset", "nosuch"), 1, "there is nothing to forget"),
        (("compact", "--dataset", "nosuch"), 1, "strata ingest nosuch"),
    ],
)
def test_wrong_usage_is_named(home: Home, strata, words: tuple[str, ...], code: int, message: str) -> None:  # type: ignore[no-untyped-def]
    found, _, complaint = strata(*words)
    assert (found, message in complaint) == (code, True), complaint
    assert "Traceback" not in complaint
