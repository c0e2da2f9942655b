"""The command line as a user calls it: real processes, exit codes, one JSON object on stdout."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from flows.cli import main
from storage.artifacts import MANIFEST, Home
from tests.fakes import ama_row, write_ama


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


Strata = Callable[..., Done]
CLI = [sys.executable, "-m", "flows.cli"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Path:
    """A folder with the home `home` of two ingested and built episodes."""
    folder = tmp_path_factory.mktemp("cli")
    write_ama(folder / "episodes.jsonl", range(2))
    assert process(folder, "ingest", "ama-bench", "episodes.jsonl").returncode == 0
    assert process(folder, "build", "--dataset", "ama-bench", "--structures", "T,R").returncode == 0
    return folder


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "STRATA_HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])}


def process(folder: Path, *words: str, home: str = "home") -> Done:
    """The command in a process of its own."""
    done = subprocess.run(
        [*CLI, *words], cwd=folder, env=environment(folder / home), capture_output=True, text=True, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def strata(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The command in this process, which spares the imports."""

    def call(folder: Path, *words: str) -> Done:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("STRATA_HOME", str(folder / "home"))
        monkeypatch.setattr(sys, "argv", ["strata", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return Done(stop.value.code, *capsys.readouterr())  # type: ignore[arg-type]

    return call


def parsed(done: Done) -> dict[str, Any]:
    """The one JSON object on stdout."""
    assert done.returncode == 0, done.stderr
    [line] = done.stdout.strip().split("\n")
    value: dict[str, Any] = json.loads(line)
    return value


def test_a_cut_last_line_keeps_the_good_rows_names_the_line_and_fails(
    tmp_path: Path, prefect_server: str, strata: Strata
) -> None:
    source = write_ama(tmp_path / "episodes.jsonl", range(3))
    source.write_bytes(source.read_bytes()[:-40])
    done = strata(tmp_path, "ingest", "ama-bench", str(source), "--json")
    assert done.returncode == 1
    assert "episodes.jsonl:3:" in done.stderr
    assert json.loads(done.stdout)["new"] == 2
    again = parsed(strata(tmp_path, "ingest", "ama-bench", str(source), "--json", "--skip-bad"))
    assert (again["new"], again["unchanged"]) == (0, 2)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["ingest", "nosuch"], 2, "nosuch"),
        (["build", "--dataset", "ama-bench", "--structures", "S,Q"], 2, "Q"),
        (["build", "--dataset", "locomo"], 1, "strata ingest locomo"),
        (["evaluate", "--dataset", "ama-bench", "--metric", "judge", "--structures", "T,R"], 2, "--judge"),
        (["evaluate", "--dataset", "ama-bench", "--policy", "S", "--structures", "T,R"], 2, "needs structure S"),
        (["evaluate", "--dataset", "ama-bench", "--answerer", "gpt", "--structures", "T,R"], 2, "gpt"),
        (["ask", "what?", "--dataset", "ama-bench", "--episode", "77", "--structures", "T"], 1, "'77'"),
        (["export", "nosuch", "--dataset", "ama-bench", "--out", "x.csv"], 1, "the tables are"),
        (["export", "steps", "--dataset", "ama-bench", "--out", "x.xlsx"], 1, ".parquet, .jsonl, .csv"),
        (["build", "--dataset", "ama-bench", "--config", "typo.yaml"], 2, "structurs"),
        (["report", "--dataset", "locomo"], 1, "strata evaluate"),
        (["ask"], 2, ""),
    ],
)
def test_what_goes_wrong_is_named_with_its_exit_code(
    built: Path, strata: Strata, words: Sequence[str], code: int, message: str
) -> None:
    (built / "typo.yaml").write_text("structurs: {}\n")
    done = strata(built, *words)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_evaluate_prints_scores_and_report_prints_the_page(built: Path, strata: Strata) -> None:
    words = ("--dataset", "ama-bench", "--structures", "T,R", "--policy", "T", "--policy", "T+R")
    result = parsed(strata(built, "evaluate", *words, "--json"))
    assert [policy["policy"] for policy in result["policies"]] == ["T", "T+R"]
    page = strata(built, "report", "--dataset", "ama-bench")
    assert page.returncode == 0
    assert result["report"] in page.stdout


def test_a_dry_run_counts_calls_and_spends_nothing(built: Path, strata: Strata) -> None:
    words = ("--dataset", "ama-bench", "--structures", "T,R", "--policy", "T", "--metric", "judge")
    models = ("--answerer", "openai:m@http://127.0.0.1:9/v1", "--judge", "openai:m@http://127.0.0.1:9/v1")
    estimate = parsed(strata(built, "evaluate", *words, *models, "--dry-run", "--json"))
    assert (estimate["answer_calls"], estimate["judge_calls"]) == (8, 8)
    assert estimate["answer_prompt_tokens"] > 8 * 40


def test_ask_shows_the_answer_and_what_was_read(built: Path, strata: Strata) -> None:
    words = ("At step 3, what did the agent take?", "--dataset", "ama-bench", "--episode", "1", "--structures", "T,R")
    result = parsed(strata(built, "ask", *words, "--json"))
    assert "drawer" in result["answer"]
    assert [read["structure"] for read in result["evidence"]] == ["T", "R"]
    assert result["evidence"][0]["steps"] == [3]


def test_tables_are_exported_in_three_formats(built: Path, strata: Strata) -> None:
    for name in ("q.parquet", "q.jsonl", "q.csv"):
        assert strata(built, "export", "questions", "--dataset", "ama-bench", "--out", name).returncode == 0
    rows = pq.read_table(built / "q.parquet").to_pylist()
    assert len(rows) == 8
    lines = (built / "q.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    assert [json.loads(line)["question_id"] for line in lines] == [row["question_id"] for row in rows]
    with (built / "q.csv").open(encoding="utf-8", newline="") as file:
        assert [row["question"] for row in csv.DictReader(file)] == [row["question"] for row in rows]


def test_saved_answers_are_scored_in_both_layouts(built: Path, strata: Strata) -> None:
    rows = [ama_row(i) for i in range(2)]
    pairs = [[pair["answer"] for pair in row["qa_pairs"]] for row in rows]  # type: ignore[attr-defined]
    board = [{"episode_id": i, "answer_list": answers} for i, answers in enumerate(pairs)]
    (built / "board.jsonl").write_text("".join(json.dumps(line) + "\n" for line in board))
    result = parsed(strata(built, "judge", "board.jsonl", "--metric", "f1", "--json"))
    assert (result["overall"]["score"], result["overall"]["n"], result["missing"]) == (1.0, 8, 0)
    assert set(result["by_capability"]) == {"recall", "causal", "update", "abstraction"}
    one = {"question_id": "ama-bench/0/0", "answer": "nothing"}
    (built / "one.jsonl").write_text(json.dumps(one) + "\n")
    result = parsed(strata(built, "judge", "one.jsonl", "--json"))
    assert (result["overall"]["score"], result["overall"]["n"], result["missing"]) == (0.0, 1, 7)
    board[1]["answer_list"] = ["one"]
    (built / "short.jsonl").write_text("".join(json.dumps(line) + "\n" for line in board))
    done = strata(built, "judge", "short.jsonl")
    assert done.returncode == 1
    assert "episode 1" in done.stderr.replace("'", "")


def test_a_killed_build_goes_on_where_it_stopped_and_ends_with_the_same_artifacts(
    tmp_path: Path, prefect_server: str
) -> None:
    source = write_ama(tmp_path / "episodes.jsonl", range(40), n_steps=60)
    (tmp_path / "small.yaml").write_text("shards: {max_episodes: 4}\n")
    for home in ("killed", "whole"):
        assert process(tmp_path, "ingest", "ama-bench", str(source), "--config", "small.yaml", home=home).returncode == 0
    words = ("build", "--dataset", "ama-bench", "--structures", "S,T,G,R", "--config", "small.yaml", "--json")
    _kill_half_way([*CLI, *words], tmp_path, Home(tmp_path / "killed"))
    finished = manifests(tmp_path / "killed")
    report = parsed(process(tmp_path, *words, home="killed"))
    assert report["cached"] >= len(finished) > 0
    assert report["built"] > 0
    assert finished.items() <= manifests(tmp_path / "killed").items(), "a finished artifact was written again"
    parsed(process(tmp_path, *words, home="whole"))
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert list((tmp_path / "killed" / "scratch").glob("draft-*")) == [], "drafts of the killed process are left"


def _kill_half_way(command: Sequence[str], folder: Path, home: Home) -> None:
    """Start the build and kill it with SIGKILL as soon as some artifacts are finished."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=folder, env=environment(Path(home.root)), **quiet)
    deadline = time.monotonic() + 120
    while len(manifests(Path(home.root))) < 8 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the build was over before it could be killed"


def manifests(home: Path) -> dict[str, int]:
    """Each finished artifact of the build with the time its manifest was written."""
    paths = [path for kind in ("derived", "structures", "evidence") for path in (home / kind).rglob(MANIFEST)]
    return {path.relative_to(home).as_posix(): path.stat().st_mtime_ns for path in paths}


def contents(home: Path) -> dict[str, Any]:
    """Every built table by path; the milliseconds of an access are a measurement and differ."""
    tables = [path for kind in ("derived", "structures", "evidence") for path in (home / kind).rglob("*.parquet")]
    return {
        path.relative_to(home).as_posix(): pq.read_table(path).drop_columns(["ms"]).to_pylist()
        if path.parts[len(home.parts)] == "evidence"
        else path.read_bytes()
        for path in tables
    }
