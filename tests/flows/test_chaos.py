"""Twenty kills at random moments, and in the end the same home: `pytest -m slow tests/flows/test_chaos.py`.

Equal means byte for byte but for times: a manifest's `seconds` and `created_at`, and the `ms` of an access in the evidence
(and so that file's size and SHA-256). LanceDB and the catalogue are compared by their rows. What only tells of runs is left
out: `mlflow/`, `prefect/`, `ledger/`, `locks/`, `scratch/`, and the report of the last ingest.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import lancedb
import pyarrow.parquet as pq
import pytest

from storage.artifacts import MANIFEST, Home
from storage.lineage import CORPUS, ROW_KINDS
from tasks.verify import verify

pytestmark = pytest.mark.slow

KILLS = 20
EPISODES = "episodes=60,min_steps=20,max_steps=20"
CONFIG = "shards: {max_episodes: 4}\n"
COMMANDS = (
    ("ingest", "babyai", EPISODES),
    ("build", "--dataset", "babyai"),
)
RUNS = ("mlflow", "prefect", "ledger", "locks", "scratch", "vectors")
ROOT = Path(__file__).parents[2]


def start(home: Path, words: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """A command with a private Prefect server of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_"))}
    config = home.parent / "small.yaml"
    config.write_text(CONFIG)
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", *words, "--config", str(config), "--json"],
        env={**environment, "STRATA_HOME": str(home), "PYTHONPATH": str(ROOT)},
        cwd=home.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def kill_run(run: subprocess.Popen[bytes]) -> None:
    """The command itself; its server ends by itself."""
    run.send_signal(signal.SIGKILL)
    run.communicate()
    assert run.returncode == -signal.SIGKILL


def kill_server(run: subprocess.Popen[bytes]) -> None:
    """The private Prefect server: the command has to notice, and to say so."""
    os.kill(server_of(run), signal.SIGKILL)
    _, errors = run.communicate(timeout=60)
    assert run.returncode != 0
    assert b"strata: the private Prefect server ended" in errors, errors[-2_000:].decode()


def server_of(run: subprocess.Popen[bytes]) -> int:
    """The process id of a command's private server, as soon as it has one."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and run.poll() is None:
        for children in Path(f"/proc/{run.pid}/task").glob("*/children"):
            for child in children.read_text().split():
                if b"tasks.prefect_server" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
        time.sleep(0.02)
    raise AssertionError("the command has no server")


VICTIMS: tuple[Callable[[subprocess.Popen[bytes]], None], ...] = (kill_run, kill_run, kill_server)
"""Who is killed, at random. A Dask worker belongs here as soon as a command starts some."""


def test_twenty_kills_and_a_last_run_leave_the_same_home_as_an_undisturbed_one(tmp_path: Path) -> None:
    chance = random.Random(7)
    shaken, quiet = tmp_path / "shaken" / "home", tmp_path / "quiet" / "home"
    for home in (shaken, quiet):
        home.mkdir(parents=True)
    killed = {victim.__name__: 0 for victim in VICTIMS}
    while sum(killed.values()) < KILLS:
        words = COMMANDS[0] if sum(killed.values()) < 4 else COMMANDS[1]
        if words == COMMANDS[1]:
            finish(shaken, COMMANDS[0])
        victim = chance.choice(VICTIMS)
        if disturb(shaken, words, victim, artifacts=chance.randrange(9), seconds=chance.random() / 2):
            killed[victim.__name__] += 1
    print("killed:", killed, "with", len(artifacts(shaken)), "artifacts finished")
    for home in (shaken, quiet):
        for words in COMMANDS:
            finish(home, words)
    assert contents(shaken) == contents(quiet)
    assert vectors(shaken) == vectors(quiet)
    assert catalogue(shaken) == catalogue(quiet)
    assert [problem for problem in verify(Home(shaken)) if problem.repair != "draft"] == []


def disturb(
    home: Path, words: tuple[str, ...], victim: Callable[[subprocess.Popen[bytes]], None], artifacts: int, seconds: float
) -> bool:
    """Start a command and kill when it has finished so many artifacts and run on for so long; False when it was faster."""
    run = start(home, words)
    before, deadline = count(home), time.monotonic() + 240
    while count(home) < before + artifacts:
        if run.poll() is not None or time.monotonic() > deadline:
            run.communicate()
            return False
        time.sleep(0.02)
    time.sleep(seconds)
    if run.poll() is not None:
        run.communicate()
        return False
    victim(run)
    return True


def finish(home: Path, words: tuple[str, ...]) -> dict[str, Any]:
    run = start(home, words)
    output, errors = run.communicate(timeout=600)
    assert run.returncode == 0, errors.decode()
    result: dict[str, Any] = json.loads(output)
    return result


def artifacts(home: Path) -> list[Path]:
    return [path for kind in (CORPUS, *ROW_KINDS) for path in home.glob(f"{kind}/*/*/*/{MANIFEST}")]


def count(home: Path) -> int:
    return len(artifacts(home))


def files(home: Path) -> Iterator[Path]:
    """Everything that is not about runs."""
    for path in sorted(home.rglob("*")):
        name = path.relative_to(home).as_posix()
        if path.is_file() and name.split("/")[0] not in RUNS and name != "catalog.duckdb" and path.name != "ingest.json":
            yield path


def contents(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in files(home):
        name = path.relative_to(home).as_posix()
        if path.name == MANIFEST:
            found[name] = without_times(json.loads(path.read_text()), is_evidence=name.startswith("evidence/"))
        elif name.startswith("evidence/"):
            found[name] = pq.read_table(path).drop_columns(["ms"]).to_pylist()
        else:
            found[name] = path.read_bytes()
    return found


def without_times(manifest: dict[str, Any], is_evidence: bool) -> dict[str, Any]:
    left_out = {"seconds", "created_at", *(["files"] if is_evidence else [])}
    return {name: value for name, value in manifest.items() if name not in left_out}


def vectors(home: Path) -> list[dict[str, Any]]:
    table = lancedb.connect(str(home / "vectors")).open_table("minilm")
    return sorted(table.to_arrow().to_pylist(), key=lambda row: (row["shard"], row["episode_id"], row["step"]))


def catalogue(home: Path) -> dict[str, int]:
    with duckdb.connect(str(home / "catalog.duckdb"), read_only=True) as database:
        names = [name for (name,) in database.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]
        return {name: database.sql(f'SELECT count(*) FROM "{name}"').fetchall()[0][0] for name in sorted(names)}
