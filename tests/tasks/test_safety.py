"""What may happen to a home while it is used: real second processes, real permissions, a real limit on the size of files."""

from __future__ import annotations

import ast
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from storage.artifacts import MANIFEST, ArtifactError, ArtifactKey, Home
from storage.home_lock import alone, shared
from storage.shards import load_dataset
from tasks.forget import forget
from tasks.verify import verify
from tests.fakes import ama_row, write_ama
from tests.input_cases.pipeline import Pipeline, write_jsonl

ROOT = Path(__file__).parents[2]
AS_ANYBODY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""Before a command: root may write what is read-only, unless this capability is taken from it."""

BUILD = """
import sys
from pathlib import Path
from storage.artifacts import Home
from tests.input_cases.pipeline import Pipeline
pipeline = Pipeline(Home(sys.argv[1]))
pipeline.ingest(Path(sys.argv[2]))
print(len(pipeline.build()))
"""


def start(home: Path, source: Path, before: Any = None) -> subprocess.Popen[str]:
    """Ingest and build in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, str(home), str(source)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors


def artifacts(home: Path) -> dict[str, bytes]:
    """Every table but the evidence, whose milliseconds differ, by path."""
    tables = home.glob("*/*/*/*/*.parquet")
    return {p.relative_to(home).as_posix(): p.read_bytes() for p in tables if "/evidence/" not in p.as_posix()}


@pytest.mark.slow
def test_two_runs_on_one_home_at_once_leave_what_one_leaves(tmp_path: Path) -> None:
    source = write_ama(tmp_path / "episodes.jsonl", range(12), n_steps=40)
    both = [start(tmp_path / "shared", source) for _ in range(2)]
    assert [ended(process)[0] for process in both] == [0, 0]
    assert ended(start(tmp_path / "single", source))[0] == 0
    assert artifacts(tmp_path / "shared") == artifacts(tmp_path / "single")
    assert len(load_dataset(Home(tmp_path / "shared"), "ama-bench").live) == 12
    assert verify(Home(tmp_path / "shared")) == []


@pytest.mark.slow
def test_a_full_disk_stops_the_run_and_leaves_a_whole_home(tmp_path: Path) -> None:
    """No file may pass 12 kB, as on a disk that is full: the kernel refuses the write (EFBIG)."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))

    source = write_jsonl(tmp_path / "episodes.jsonl", [ama_row(i, n_steps=300, note=os.urandom(40).hex()) for i in range(3)])
    code, errors = ended(start(tmp_path / "home", source, limit))
    assert code != 0
    assert "File too large" in errors
    home = Home(tmp_path / "home")
    assert [problem for problem in verify(home) if problem.repair != "draft"] == []
    assert ended(start(tmp_path / "home", source))[0] == 0
    assert verify(home) == []


def test_a_read_only_home_can_be_read_and_says_so_when_it_is_to_be_written(pipeline: Pipeline) -> None:
    root = Path(pipeline.home.root)
    for path in (*root.rglob("*"), root):
        path.chmod(0o555 if path.is_dir() else 0o444)
    code = f"""
from storage.artifacts import ArtifactKey, Home
from storage.shards import load_dataset, read_shard
home = Home({str(root)!r})
shards = load_dataset(home, "ama-bench").shards
print(sum(read_shard(home, shard, "steps").num_rows for shard in shards))
home.replace_json(home.path("corpora", "ama-bench", "head.json"), {{}})
"""
    command = [*AS_ANYBODY, sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    for path in (root, *(p for p in root.rglob("*") if p.is_dir())):
        path.chmod(0o755)  # so that pytest can remove it
    assert done.stdout.strip() == "60"
    assert f"PermissionError: [Errno 13] Permission denied: '{root}/corpora/ama-bench/" in done.stderr


def test_a_clock_that_goes_backwards_changes_nothing(pipeline: Pipeline) -> None:
    """What is done is told by manifests, never by times."""
    for path in Path(pipeline.home.root).rglob("*"):
        os.utime(path, (0, 0) if path.name == MANIFEST else (4e9, 4e9))
    assert pipeline.build("STGVR") == []
    assert verify(pipeline.home) == []


@pytest.mark.slow
def test_a_killed_run_leaves_nothing_half_seen(tmp_path: Path) -> None:
    source = write_ama(tmp_path / "episodes.jsonl", range(8), n_steps=60)
    process = start(tmp_path / "home", source)
    while process.poll() is None and len(list((tmp_path / "home").glob(f"structures/*/*/*/{MANIFEST}"))) < 2:
        time.sleep(0.005)
    process.kill()
    assert ended(process)[0] == -signal.SIGKILL
    assert {problem.repair for problem in verify(Home(tmp_path / "home"))} <= {"draft"}
    assert ended(start(tmp_path / "home", source))[0] == 0
    assert verify(Home(tmp_path / "home")) == []


@pytest.mark.parametrize(
    "episode", ["../../x", "/etc/passwd", "..", "a/../../../b", "x\\..\\y", "semi;colon'quote\"", "%2e%2e%2f"]
)
def test_a_path_in_the_data_stays_in_the_home(tmp_path: Path, episode: str) -> None:
    home = tmp_path / "deep" / "home"
    pipeline = Pipeline(Home(home))
    pipeline.ingest(write_jsonl(tmp_path / "episodes.jsonl", [{**ama_row(0), "episode_id": episode}, ama_row(1)]))
    pipeline.build()
    pipeline.evaluate("T")
    assert pipeline.ask("At step 2, what did the agent take?", "T", episode)["evidence"][0]["steps"] == (2,)
    assert {path.name for path in tmp_path.rglob("*") if home not in path.parents} == {"deep", "home", "episodes.jsonl"}
    assert forget(pipeline.home, "ama-bench", (episode,), pipeline.settings)["remnants_left"] == 0
    assert list(pipeline.live.live) == ["1"]
    assert {path.name for path in tmp_path.rglob("*") if home not in path.parents} == {"deep", "home", "episodes.jsonl"}


def test_one_command_alone_waits_for_stages_and_stages_for_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    code = f"""
import time
from storage.artifacts import Home
from storage.home_lock import shared
with shared(Home({str(tmp_path)!r})):
    print("held", flush=True)
    time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    with shared(home):
        pass
    with pytest.raises(ArtifactError, match="in use by another run"), alone(home, wait_seconds=0.2):
        pass
    process.kill()
    process.communicate()
    with alone(home, wait_seconds=5):
        pass


def test_results_of_tasks_are_json_and_never_pickled(tmp_path: Path, prefect_server: str) -> None:
    from prefect import flow

    from tasks.artifact_task import artifact_task

    @artifact_task
    def stage(home: Home, draft: Any) -> None:
        (draft.folder / "x.txt").write_text("x")

    @flow
    def store() -> Any:
        key = ArtifactKey("structures", "R", 1)
        return stage.submit(Home(tmp_path), key, []).result()

    store()
    storage = Path(os.environ["PREFECT_LOCAL_STORAGE_PATH"])
    [record] = [p for p in storage.rglob("*") if p.is_file() and b"structures/R/v1-" in p.read_bytes()]
    metadata = json.loads(record.read_bytes())["metadata"]
    assert metadata["serializer"]["type"] == "json"


PICKLING = {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}


@pytest.mark.parametrize("layer", ["flows", "tasks", "models", "storage"])
def test_no_module_loads_a_pickle(layer: str) -> None:
    """Nor does one call what reads pickles: `torch.load`, `numpy.load(..., allow_pickle=...)`."""
    for path in (ROOT / layer).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not PICKLING & {name.name.split(".")[0] for name in node.names}, path
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in PICKLING, path
            elif isinstance(node, ast.Call):
                assert ast.unparse(node.func) != "torch.load", path
                assert "allow_pickle" not in {keyword.arg for keyword in node.keywords}, path


def test_services_that_strata_starts_listen_on_the_loopback_only() -> None:
    for path in [*(ROOT / "tasks").rglob("*.py"), *(ROOT / "flows").rglob("*.py")]:
        assert "0.0.0.0" not in path.read_text(encoding="utf-8"), path
    source = (ROOT / "tasks" / "prefect_server.py").read_text(encoding="utf-8")
    assert 'host="127.0.0.1"' in source
