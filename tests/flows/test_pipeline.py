"""The flows on a small data set, with a real Prefect server, a real MLflow store, real DuckDB and LanceDB files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from flows.build_memory import build_memory
from flows.evaluate_policy import evaluate_policy
from flows.ingest_episodes import ingest_episodes
from storage.artifacts import ArtifactError, Home
from storage.shards import load_dataset
from tasks.evaluation import EvaluationConfig
from tasks.inventory import refresh_catalog, status, table_parts
from tasks.settings import Settings, SettingsError
from tasks.tracking import tracking_uri
from tests.fakes import ama_row, write_ama

pytestmark = pytest.mark.usefixtures("prefect_server")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Home:
    """A home with three ingested and built episodes."""
    folder = tmp_path_factory.mktemp("pipeline")
    source = write_ama(folder / "episodes.jsonl", range(3))
    home = Home(folder / "home")
    ingest_episodes("ama-bench", str(source), home.url)
    build_memory("ama-bench", home.url)
    return home


def copy(home: Home, folder: Path) -> Home:
    home.fs.copy(home.root, str(folder / "home"), recursive=True)
    return Home(folder / "home")


def evaluate(home: Home, **config: Any) -> dict[str, Any]:
    return evaluate_policy("ama-bench", home.url, EvaluationConfig(**config))


def test_every_question_has_evidence_of_every_structure(home: Home) -> None:
    parts = table_parts(home, load_dataset(home, "ama-bench"), "evidence", Settings())
    rows = [row for part in parts for row in pq.read_table(part.path).to_pylist()]
    assert len({(row["question_id"], row["structure"]) for row in rows}) == len(rows) == 3 * 4 * 5
    named = {row["question_id"]: row["steps"] for row in rows if row["structure"] == "T"}
    assert all(steps == [int(question[-1]) + 1] for question, steps in named.items())


def test_a_second_build_finds_everything_done(home: Home) -> None:
    report = build_memory("ama-bench", home.url)
    assert report["built"] == 0
    assert report["cached"] == sum(stage["artifacts"] for stage in report["stages"].values()) > 0


def test_an_appended_episode_builds_its_own_shard_only(home: Home, tmp_path: Path) -> None:
    home = copy(home, tmp_path)
    before = {path for path in home.fs.find(home.root) if path.endswith("manifest.json")}
    counts = ingest_episodes("ama-bench", str(write_ama(tmp_path / "more.jsonl", range(4))), home.url)
    report = build_memory("ama-bench", home.url)
    assert (counts["new"], counts["unchanged"]) == (1, 3)
    assert report["built"] == report["cached"] == len(report["stages"])
    after = {path for path in home.fs.find(home.root) if path.endswith("manifest.json")}
    assert len(after - before) == report["built"] + 1  # and the shard itself


def test_a_changed_episode_is_read_in_its_new_content(home: Home, tmp_path: Path) -> None:
    home = copy(home, tmp_path)
    (tmp_path / "changed.jsonl").write_text(json.dumps(ama_row(1, note="The lamp is violet.")) + "\n")
    assert ingest_episodes("ama-bench", str(tmp_path / "changed.jsonl"), home.url)["changed"] == 1
    build_memory("ama-bench", home.url)
    result = evaluate(home, policies=("V",), metric="support")
    assert result["n"] == 12
    parts = table_parts(home, load_dataset(home, "ama-bench"), "steps", Settings())
    from storage.catalog import read_table

    steps = [row["observation"] for row in read_table(home, parts).to_pylist() if row["episode_id"] == "1"]
    assert len(steps) == 12
    assert all("violet" in text for text in steps)


def test_a_damaged_artifact_is_built_again_although_prefect_has_it_cached(home: Home, tmp_path: Path) -> None:
    home = copy(home, tmp_path)
    build_memory("ama-bench", home.url)
    [victim] = home.fs.glob(home.path("structures", "R", "*", "*"))
    Path(victim, "manifest.json").unlink()
    assert build_memory("ama-bench", home.url)["built"] == 1
    assert Path(victim, "manifest.json").exists()


def test_an_evaluation_scores_policies_and_writes_the_report_once(home: Home) -> None:
    policies = ("all", "T", "random", "long-context")
    result = evaluate(home, policies=policies)
    assert [policy["policy"] for policy in result["policies"]] == list(policies)
    assert all(policy["n"] == 12 and policy["errors"] == 0 for policy in result["policies"])
    page = Path(result["report"]).read_text(encoding="utf-8")
    assert "extractive" in page
    assert "<svg" in page
    again = evaluate(home, policies=policies)
    assert again["run_id"] == result["run_id"]
    assert again["policies"] == result["policies"]


def test_mlflow_holds_a_run_per_policy_under_the_evaluation(home: Home) -> None:
    from mlflow import MlflowClient

    result = evaluate(home, policies=("T", "V"))
    client = MlflowClient(tracking_uri(home))
    experiment = client.get_experiment_by_name("strata/ama-bench/evaluate")
    children = client.search_runs(
        [experiment.experiment_id], f"tags.`mlflow.parentRunId` = '{result['run_id']}'", max_results=10
    )
    scores = {run.data.params["policy"]: run.data.metrics["score"] for run in children}
    assert scores == {policy["policy"]: policy["score"] for policy in result["policies"]}
    assert {"report.html", "report.md", "settings.json"} <= {a.path for a in client.list_artifacts(result["run_id"])}


def test_support_needs_no_answerer(home: Home) -> None:
    result = evaluate(home, policies=("T",), metric="support")
    assert (result["answerer"], result["score"], result["n"]) == ("none", 1.0, 12)


def test_a_limit_takes_the_first_episodes(home: Home) -> None:
    assert evaluate(home, policies=("T",), metric="support", limit=2)["n"] == 8


@pytest.mark.parametrize(
    ("config", "message"),
    [({"policies": ("X+T",)}, "policy 'X"), ({"metric": "bleu"}, "unknown metric"), ({"metric": "judge"}, "needs a judge")],
)
def test_wrong_settings_are_named(home: Home, config: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        evaluate(home, **config)


def test_an_evaluation_before_the_build_says_what_to_run(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with pytest.raises(ArtifactError, match="strata ingest ama-bench"):
        evaluate(home)
    ingest_episodes("ama-bench", str(write_ama(tmp_path / "e.jsonl", range(1))), home.url)
    with pytest.raises(ArtifactError, match="strata build --dataset ama-bench"):
        evaluate(home)


def test_the_catalogue_shows_live_rows_only(home: Home, tmp_path: Path) -> None:
    import duckdb

    home = copy(home, tmp_path)
    (tmp_path / "changed.jsonl").write_text(json.dumps(ama_row(1, n_steps=5)) + "\n")
    ingest_episodes("ama-bench", str(tmp_path / "changed.jsonl"), home.url)
    build_memory("ama-bench", home.url)
    refresh_catalog(home, Settings())
    with duckdb.connect(home.path("catalog.duckdb"), read_only=True) as connection:
        steps = connection.sql("SELECT episode_id, count(*) FROM ama_bench_steps GROUP BY 1 ORDER BY 1").fetchall()
        [(rows,)] = connection.sql("SELECT count(*) FROM ama_bench_evidence").fetchall()
    assert steps == [("0", 12), ("1", 5), ("2", 12)]
    assert rows == 3 * 4 * 5


def test_status_counts_what_is_built(home: Home) -> None:
    [dataset] = status(home, Settings())["datasets"]
    assert dataset["episodes"] == 3
    assert dataset["built"] == {**dict.fromkeys("STGVR", "1/1"), "H": "0/1"}
