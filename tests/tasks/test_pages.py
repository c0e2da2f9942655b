from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from storage.artifacts import ArtifactError, Home
from tasks.pages import page_key, page_paths, publish, sweep_facts
from tasks.settings import Settings
from tasks.sweep import Sweep
from tests.models.report.learning_sample import ablation, method
from tests.models.report.training_sample import training


class Log:
    """An MLflow that only counts."""

    def __init__(self) -> None:
        self.texts: list[Mapping[str, str]] = []

    def __call__(self, texts: Mapping[str, str]) -> str:
        self.texts.append(texts)
        return f"run {len(self.texts)}"


def test_a_page_is_written_and_logged_once(tmp_path: Path) -> None:
    home, log = Home(tmp_path), Log()
    first = publish(home, "ablation", ablation(), log)
    assert publish(home, "ablation", ablation(), log) == first
    assert (first["run_id"], len(log.texts)) == ("run 1", 1)
    assert Path(first["report"]).read_text(encoding="utf-8") == log.texts[0]["report.html"]
    assert Path(first["markdown"]).read_text(encoding="utf-8") == log.texts[0]["report.md"]


def test_other_numbers_are_another_page_but_another_time_is_not() -> None:
    page = ablation()
    assert page_key(replace(page, created_at="tomorrow", command="strata x", versions={})) == page_key(page)
    assert page_key(replace(page, rows=(method("mesa", 0.1, 10),))) != page_key(page)


def test_a_page_says_how_to_get_its_numbers_again(tmp_path: Path) -> None:
    text = Path(publish(Home(tmp_path), "ablation", ablation(), Log())["markdown"]).read_text(encoding="utf-8")
    assert "## Get these numbers again" in text
    assert "strata 0." in text


def test_a_page_that_could_not_be_logged_is_not_there(tmp_path: Path) -> None:
    def fails(_: Mapping[str, str]) -> str:
        raise ConnectionError("no MLflow")

    home = Home(tmp_path)
    with pytest.raises(ConnectionError):
        publish(home, "ablation", ablation(), fails)
    assert not home.has(page_key(ablation()))
    with pytest.raises(ArtifactError):
        page_paths(home, page_key(ablation()))


def test_a_page_about_a_sweep_names_structures_in_the_order_asked_and_no_answerer_for_support() -> None:
    facts = sweep_facts(Sweep("toy", "support", Settings(), (), (), ""), ("T", "R"), 1e-5)
    assert list(facts["structures"].items()) == [("T", "temporal"), ("R", "raw")]
    assert (facts["answerer"], facts["cost"]) == ("", 1e-5)


def test_the_page_of_a_training_is_written_and_logged_once_per_content(tmp_path: Path) -> None:
    home, log = Home(tmp_path), Log()
    first = publish(home, "training", training(created_at="then"), log)
    assert publish(home, "training", training(created_at="now", command="another"), log) == first
    assert first["run_id"] == "run 1"
    assert [set(texts) for texts in log.texts] == [{"report.html", "report.md"}]
    assert Path(first["report"]).read_text(encoding="utf-8") == log.texts[0]["report.html"]
    other = publish(home, "training", training(seed=1), log)
    assert (other["run_id"], other["page"] != first["page"]) == ("run 2", True)
