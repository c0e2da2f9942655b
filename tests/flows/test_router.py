"""Training a router on four small conversations, with a real Prefect server and a real MLflow store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.build_memory import build_memory
from flows.ingest_episodes import ingest_episodes
from flows.train_router import train_router
from storage.artifacts import ArtifactError, Home
from storage.catalog import read_table
from storage.shards import load_dataset
from tasks.ask import ask
from tasks.inventory import table_parts
from tasks.router import TrainingConfig
from tasks.router_data import read_router_data
from tasks.router_report import _wins
from tasks.routers import load_routers, router_in_use
from tasks.settings import Settings
from tasks.tracking import tracking_uri
from tests.input_cases.pipeline import conversation, said, write_jsonl

pytestmark = pytest.mark.usefixtures("prefect_server")

BEST = TrainingConfig(folds=3, epochs=2)
THINGS = ("kettle", "violin", "parrot", "canoe", "ladder", "telescope")


def talk(number: int) -> dict[str, Any]:
    """Two people who mention one thing in each of six turns, between small talk, and are asked about every one."""
    turns, pairs = [], []
    for i, thing in enumerate(THINGS):
        turns += [
            said(f"D1:{2 * i + 1}", "Ann", f"I bought a {thing} number {number} today."),
            said(f"D1:{2 * i + 2}", "Bo", "Nice!"),
        ]
        pairs.append(
            {
                "question": f"What {thing} did Ann buy?",
                "answer": f"{thing} {number}",
                "category": 4,
                "evidence": [f"D1:{2 * i + 1}"],
            }
        )
    return {**conversation([("1:56 pm on 8 May, 2023", turns)], *pairs), "sample_id": f"conv-{number}"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Home:
    folder = tmp_path_factory.mktemp("router")
    home = Home(folder / "home")
    ingest_episodes("locomo", str(write_jsonl(folder / "talks.jsonl", [talk(n) for n in range(4)])), home.url)
    build_memory("locomo", home.url, ("H",))
    return home


@pytest.fixture(scope="module")
def trained(home: Home) -> dict[str, Any]:
    return train_router("locomo", home.url, BEST)


def test_a_training_reports_recall_beside_plain_search(trained: dict[str, Any]) -> None:
    assert set(trained["recall"]) == {"H", "dense", "bm25", "fusion"}
    assert all(0 <= value <= 1 for by_depth in trained["recall"].values() for value in by_depth.values())
    assert {"15", "30"} == set(trained["recall"]["H"])
    assert trained["questions"] == 24
    assert [gap["depth"] for gap in trained["gaps"]["fusion"]] == [15, 30]


def test_every_conversation_is_tested_once_by_weights_that_never_saw_it(home: Home, trained: dict[str, Any]) -> None:
    tested = [episode for fold in trained["folds"] for episode in fold["test"]]
    assert sorted(tested) == [f"conv-{n}" for n in range(4)]
    routers = load_routers(home, trained["router"])
    for episode in tested:
        assert episode not in routers.of(episode).weights.header["graphs"]
    assert routers.of("conv-99") is routers.folds[routers.best]


def test_the_same_seed_gives_the_same_numbers_and_trains_nothing_again(home: Home, trained: dict[str, Any]) -> None:
    assert train_router("locomo", home.url, BEST) == trained
    home.discard(trained["router"])
    for key in load_router_inputs(home, trained):
        home.discard(key)
    again = train_router("locomo", home.url, BEST)
    assert again["recall"] == trained["recall"]
    assert again["router"] == trained["router"]


def load_router_inputs(home: Home, trained: dict[str, Any]) -> list[str]:
    from tasks.router import plan_training

    return [str(task.key) for task in plan_training(home, "locomo", BEST, Settings())]


def test_the_champion_walks_structure_h_and_its_evidence_is_made_again(home: Home, trained: dict[str, Any]) -> None:
    assert router_in_use(home, "locomo", Settings()) == trained["router"]
    built = build_memory("locomo", home.url, ("H",))
    assert {name for name, stage in built["stages"].items() if stage["built"]} <= {"evidence/H"}
    rows = read_table(home, table_parts(home, load_dataset(home, "locomo"), "evidence", Settings()))
    assert set(rows.column("structure").to_pylist()) == {"H"}
    answer = ask(home, "locomo", "conv-1", "What violin did Ann buy?", Settings(), ("H",))
    [read] = answer["evidence"]
    assert read["path"]
    assert 3 in read["steps"] or 2 in read["steps"]


def test_a_champion_of_another_encoder_is_not_in_use(home: Home, trained: dict[str, Any]) -> None:
    assert router_in_use(home, "locomo", Settings(embedder="sentence-transformers:other/model")) == ""
    assert router_in_use(home, "locomo", Settings(router="none")) == ""
    assert router_in_use(home, "locomo", Settings(router=trained["router"])) == trained["router"]


MINE = {"router": "b", "validation": 0.8, "dataset_hash": "x", "embedder": "minilm"}


@pytest.mark.parametrize(
    ("present", "preset", "promoted"),
    [
        (None, "best", True),
        (None, "paper", False),
        ({**MINE, "router": "a", "validation": 0.7}, "best", True),
        ({**MINE, "router": "a", "validation": 0.8}, "best", False),
        ({**MINE, "router": "a", "validation": 0.9, "dataset_hash": "y"}, "best", True),
        (MINE, "best", False),
    ],
)
def test_a_router_is_promoted_when_it_wins_on_the_same_content(
    present: dict[str, Any] | None, preset: str, promoted: bool
) -> None:
    won, reason = _wins(MINE, present, preset)
    assert won is promoted
    assert reason


def test_mlflow_has_a_run_per_fold_with_curves(home: Home, trained: dict[str, Any]) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri(home))
    experiment = client.get_experiment_by_name("strata/locomo/train-router")
    children = client.search_runs([experiment.experiment_id], f"tags.`mlflow.parentRunId` = '{trained['run_id']}'")
    assert len(children) == 3
    assert len(client.get_metric_history(children[0].info.run_id, "loss")) >= 2
    assert client.get_model_version_by_alias("strata-locomo-router", "champion").run_id == trained["run_id"]


def test_the_papers_preset_trains_every_mode_and_changes_no_champion(home: Home, trained: dict[str, Any]) -> None:
    paper = train_router("locomo", home.url, TrainingConfig("paper", folds=3, epochs=1))
    assert set(paper["walks"]) == {"static", "edge-only", "router-only", "joint", "random", "cosine"}
    assert not paper["champion"]["promoted"]
    assert router_in_use(home, "locomo", Settings()) == trained["router"]


def test_gold_changes_no_graph_and_no_vector(home: Home) -> None:
    """Targets are labels only: what a router sees of a question has no other field with gold in it."""
    data = read_router_data(home, "locomo", Settings())
    assert {len(question.targets) for question in data.questions} == {1}
    assert all("violin 1" not in text for graph in data.graphs.values() for text in graph.texts)


def test_a_data_set_without_gold_evidence_or_without_h_says_what_to_do(tmp_path: Path, home: Home) -> None:
    from tests.fakes import write_ama

    other = Home(tmp_path / "home")
    ingest_episodes("ama-bench", str(write_ama(tmp_path / "a.jsonl", range(3))), other.url)
    with pytest.raises(ArtifactError, match="strata build --dataset ama-bench --structures H"):
        read_router_data(other, "ama-bench", Settings())
    build_memory("ama-bench", other.url, ("H",))
    with pytest.raises(ArtifactError, match="no question of ama-bench has gold evidence"):
        read_router_data(other, "ama-bench", Settings())


def test_a_training_has_a_page_with_its_walk_and_its_run_keeps_it(home: Home, trained: dict[str, Any]) -> None:
    from mlflow import MlflowClient

    logged = {file.path for file in MlflowClient(tracking_uri(home)).list_artifacts(trained["run_id"])}
    assert {"report.html", "report.md", "training.json"} <= logged
    text = Path(trained["markdown"]).read_text(encoding="utf-8")
    for heading in ("Evidence recall", "Recall by fold", "One walk", "Chosen epochs"):
        assert f"## {heading}\n" in text
    assert "D1:" in text.split("## One walk")[1]
    html = Path(trained["report"]).read_text(encoding="utf-8")
    assert "Training, stage events" in html
    json.dumps(trained, allow_nan=False)


def test_a_lost_page_is_made_again(home: Home, trained: dict[str, Any]) -> None:
    found = train_router("locomo", home.url, BEST)
    assert {**found, "champion": None} == {**trained, "champion": None}, "another test trains again: it is champion already"
    home.discard(trained["page"])
    again = train_router("locomo", home.url, BEST)
    assert again["page"] == trained["page"]
    assert Path(again["report"]).is_file()
