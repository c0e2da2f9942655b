"""The page of a training: written and logged once per content, and made from a real flow on four small conversations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flows.build_memory import build_memory
from flows.ingest_episodes import ingest_episodes
from flows.train_router import train_router
from storage.artifacts import Home
from tasks.pages import publish
from tasks.router import TrainingConfig
from tasks.tracking import tracking_uri
from tests.flows.test_router import talk
from tests.input_cases.pipeline import write_jsonl
from tests.models.report.training_sample import training

CONFIG = TrainingConfig(folds=3, epochs=1)


class Log:
    """An MLflow that only counts."""

    def __init__(self) -> None:
        self.texts: list[Mapping[str, str]] = []

    def __call__(self, texts: Mapping[str, str]) -> str:
        self.texts.append(texts)
        return f"run {len(self.texts)}"


def test_a_page_is_written_and_logged_once_per_content(tmp_path: Path) -> None:
    home, log = Home(tmp_path), Log()
    first = publish(home, "training", training(created_at="then"), log)
    assert publish(home, "training", training(created_at="now", command="another"), log) == first
    assert first["run_id"] == "run 1"
    assert [set(texts) for texts in log.texts] == [{"report.html", "report.md"}]
    assert Path(first["report"]).read_text(encoding="utf-8") == log.texts[0]["report.html"]
    other = publish(home, "training", training(seed=1), log)
    assert (other["run_id"], other["page"] != first["page"]) == ("run 2", True)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Home:
    folder = tmp_path_factory.mktemp("training-page")
    home = Home(folder / "home")
    ingest_episodes("locomo", str(write_jsonl(folder / "talks.jsonl", [talk(n) for n in range(4)])), home.url)
    build_memory("locomo", home.url, ("H",))
    return home


@pytest.fixture(scope="module")
def trained(home: Home) -> dict[str, Any]:
    return train_router("locomo", home.url, CONFIG)


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
    assert train_router("locomo", home.url, CONFIG) == trained
    home.discard(trained["page"])
    again = train_router("locomo", home.url, CONFIG)
    assert again["page"] == trained["page"]
    assert Path(again["report"]).is_file()
