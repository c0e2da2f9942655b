"""Forgetting, with everything in the home: a real Prefect server, MLflow store, LanceDB, and a language model's journals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from flows.build_memory import build_memory
from flows.evaluate_policy import evaluate_policy
from flows.ingest_episodes import ingest_episodes
from storage.artifacts import MANIFEST, ArtifactError, ArtifactKey, Home
from storage.ledger import Ledger
from storage.remnants import Remnants, find_remnants
from storage.shards import load_dataset
from tasks.ask import ask
from tasks.evaluation import EvaluationConfig
from tasks.forget import forget, unfinished
from tasks.pages import write_page
from tasks.settings import Settings
from tasks.tracking import RunRecord, log_runs
from tasks.verify import verify
from tests.fakes import ama_row
from tests.flows.leaks import leaks
from tests.flows.test_build_with_models import script, stage_of
from tests.models.llm.server import FakeServer, Say, reply, serving

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]

STRUCTURES = ("S", "T", "G", "V", "R", "H")
ANIMALS = ("walrus", "ibex", "narwhal", "quokka")
SECRETS = [f"the {animal} knows that the passphrase of vault {i} is {animal} marmalade" for i, animal in enumerate(ANIMALS)]
OLD_SECRET = "the drawing room was painted in viridian ochre last spring"
ROWS = {"corpus", "derived", "structures", "evidence", "answers", "outcomes"}
EVERYWHERE = ROWS | {"journal", "mlflow", "reports", "policies"}


class Full(NamedTuple):
    """A home with four episodes in two shards, one episode superseded once, built and answered with a model."""

    home: Home
    settings: Settings
    server: FakeServer


def write(path: Path, *rows: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def row(i: int) -> dict[str, object]:
    return ama_row(i, note=f"{SECRETS[i]}. Käse <b>&amp;</b> {i}.")


def quoting(body: dict[str, Any], seen: int) -> Say:
    """A model that repeats what it was shown, so that its words are the episode's."""
    if stage_of(body) != "entities" or "## Instructions" not in body["messages"][-1]["content"]:
        return script(body, seen)
    shown = next((secret for secret in SECRETS if secret in body["messages"][-1]["content"]), "nothing")
    return reply(f"Answer: {shown}", prompt_tokens=10, completion_tokens=2)


def fill(home: Home, folder: Path, settings: Settings, first: tuple[int, ...]) -> None:
    ingest_episodes("ama-bench", write(folder / "first.jsonl", *map(row, first)), home.url, settings)
    ingest_episodes("ama-bench", write(folder / "second.jsonl", ama_row(3, note=OLD_SECRET)), home.url, settings)
    build_memory("ama-bench", home.url, STRUCTURES, settings)
    ingest_episodes("ama-bench", write(folder / "third.jsonl", row(3)), home.url, settings)
    build_memory("ama-bench", home.url, STRUCTURES, settings)
    evaluate(home, settings)


def evaluate(home: Home, settings: Settings) -> dict[str, Any]:
    config = EvaluationConfig(policies=("all", "T"), structures=STRUCTURES)
    return evaluate_policy("ama-bench", home.url, config, settings)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Iterator[Full]:
    """Everything that a home may hold of an episode, pages and runs that quote it among them."""
    folder = tmp_path_factory.mktemp("forget")
    home = Home(folder / "home")
    with serving(quoting) as server:
        spec = f"openai:m@{server.url}"
        by_model = ("summary", "triples", "events")
        settings = Settings(builder=spec, built_by_model=by_model, checker=spec, answerer=spec)
        fill(home, folder, settings, (0, 1, 2))
        for i, secret in enumerate((*SECRETS, OLD_SECRET)):
            texts = {"report.html": f"<p>{secret}</p>", "page.json": json.dumps({"episode": f"ama-bench/{i}"})}
            log_runs(home, "ama-bench", "train-router", RunRecord(f"run {i}", tags={"reason": secret}, texts=texts))
            write_page(home, ArtifactKey("reports", "ama-bench", 1, "page", (str(i),)), texts)
            policy = {"name": f"p{i}", "source": f"# {secret}", "params": {}}
            home.replace_json(home.path("policies", "ama-bench", f"p{i}.json"), policy)
        home.replace_json(home.path("policies", "ama-bench", "champion.json"), {"name": "p1", "reason": "first"})
        yield Full(home, settings, server)


@pytest.fixture
def home(full: Full, tmp_path: Path) -> Home:
    """A copy that may forget."""
    shutil.copytree(full.home.root, tmp_path / "home")
    return Home(tmp_path / "home")


def manifests(home: Home) -> dict[str, bytes]:
    root = Path(home.root)
    found = (path for kind in (*ROWS, "reports") for path in root.glob(f"{kind}/*/*/*/{MANIFEST}"))
    return {path.parent.relative_to(root).as_posix(): path.read_bytes() for path in found}


def test_nothing_of_a_forgotten_episode_is_left_and_nothing_is_paid_for_again(full: Full, home: Home) -> None:
    words = ["ibex", "vault 1", "ama-bench/1/"]
    before = leaks(Path(home.root), words)
    assert before.keys() >= EVERYWHERE | {"vectors"}
    spent = Ledger(home).totals()
    untouched = {path: m for path, m in manifests(home).items() if b"corpus/" in m}
    result = forget(home, "ama-bench", ("1",), full.settings)
    assert (result["forgotten"], result["remnants_left"]) == (["1"], 0)
    assert leaks(Path(home.root), words) == {}
    assert leaks(Path(home.root), ["quokka marmalade"]).keys() >= EVERYWHERE, "others were forgotten too"
    assert Ledger(home).totals() == spent
    shards = {shard.key for shard in load_dataset(full.home, "ama-bench").shards if "1" not in shard.episodes}
    kept = {path: m for path, m in untouched.items() if any(shard.encode() in m for shard in shards)}
    assert len(kept) > 20
    assert kept.items() <= manifests(home).items(), "an artifact of another shard was written again"

    calls = len(full.server.bodies)
    assert build_memory("ama-bench", home.url, STRUCTURES, full.settings)["built"] == 0
    assert [policy["n"] for policy in evaluate(home, full.settings)["policies"]] == [12, 12]
    assert len(full.server.bodies) == calls
    assert verify(home) == []
    answer = ask(home, "ama-bench", "2", "At step 3, what did the agent take?", full.settings, ("T", "V"))
    assert answer["evidence"][0]["steps"][0] == 3
    with pytest.raises(ArtifactError, match="episode '1' is not in ama-bench"):
        ask(home, "ama-bench", "1", "What?", full.settings, ("T",))
    with pytest.raises(ArtifactError, match="there is nothing to forget"):
        forget(home, "ama-bench", ("1",), full.settings)
    assert not home.fs.exists(home.path("policies", "ama-bench", "champion.json"))


def test_what_is_left_is_what_a_home_without_the_episode_would_hold(full: Full, home: Home, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    fill(other, tmp_path, full.settings, (0, 2))
    forget(home, "ama-bench", ("1",), full.settings)
    rows = {path for path in manifests(home) if path.split("/")[0] in ROWS}
    assert rows == {path for path in manifests(other) if path.split("/")[0] in ROWS}
    for path in sorted(rows):
        for file in json.loads(manifests(home)[path])["files"]:
            mine, theirs = Path(home.path(path, file)), Path(other.path(path, file))
            if path.startswith(("evidence/", "answers/", "outcomes/")):
                assert timeless(mine) == timeless(theirs)
            else:
                assert mine.read_bytes() == theirs.read_bytes(), f"{path}/{file}"


def timeless(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).drop_columns(["ms"]).to_pylist()
    return rows


def test_superseded_rows_of_an_episode_are_forgotten_with_it(full: Full, home: Home) -> None:
    assert leaks(Path(home.root), ["viridian ochre"]).keys() >= {"corpus", "structures", "mlflow"}
    forget(home, "ama-bench", ("3",), full.settings)
    assert leaks(Path(home.root), ["viridian ochre", "quokka", "ama-bench/3/"]) == {}
    assert list(load_dataset(home, "ama-bench").live) == ["0", "1", "2"]


def test_a_whole_data_set_is_forgotten(full: Full, home: Home) -> None:
    result = forget(home, "ama-bench", None, full.settings)
    assert result["forgotten"] == ["0", "1", "2", "3"]
    assert leaks(Path(home.root), ["marmalade", "viridian ochre", "ama-bench/0"]) == {}
    assert manifests(home) == {}
    with pytest.raises(ArtifactError, match="nothing to forget"):
        forget(home, "ama-bench", None, full.settings)


def test_runs_on_a_tracking_server_elsewhere_are_deleted(
    full: Full, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    uri = f"sqlite:///{tmp_path}/elsewhere.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.chdir(tmp_path)
    runs = [
        log_runs(home, "ama-bench", "search", RunRecord(animal, texts={"page.html": f"<p>{secret}</p>"}))
        for animal, secret in zip(ANIMALS, SECRETS, strict=True)
    ]
    assert forget(home, "ama-bench", ("1",), full.settings)["runs_elsewhere"] == [runs[1]]
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("strata/ama-bench/search")
    assert {run.info.run_id for run in client.search_runs([experiment.experiment_id])} == {*runs} - {runs[1]}


def test_a_killed_forgetting_goes_on_when_it_is_called_again(full: Full, home: Home, tmp_path: Path) -> None:
    root = Path(home.root)
    command = [sys.executable, "-m", "flows.cli", "forget", "1", "--dataset", "ama-bench", "--json"]
    environment = {**os.environ, "STRATA_HOME": home.root, "PYTHONPATH": str(Path(__file__).parents[2])}
    before, killed = count(root), 0
    for change in (3, 15, 30):
        run = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while run.poll() is None and not (unfinished(home) and abs(count(root) - before) >= change):
            time.sleep(0.002)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        killed += run.returncode == -signal.SIGKILL
    assert killed
    assert unfinished(home) or not leaks(root, ["ibex"])
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "nothing to forget" in done.stderr, done.stderr
    assert leaks(root, ["ibex", "vault 1", "ama-bench/1/"]) == {}
    assert verify(home) == []
    assert build_memory("ama-bench", home.url, STRUCTURES, full.settings)["built"] == 0


def count(root: Path) -> int:
    """Artifacts with rows; some may go while they are counted."""
    return sum(1 for kind in ROWS for _ in root.glob(f"{kind}/*/*/*"))


def test_the_search_for_traces_finds_them_in_every_kind_of_file(full: Full) -> None:
    remnants = Remnants("ama-bench", frozenset({"1"}), ("ibex marmalade",))
    assert {name.split("/")[0] for name in find_remnants(full.home, remnants)} >= EVERYWHERE | {"vectors", "corpora"}
