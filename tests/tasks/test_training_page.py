"""The page of a training is written and logged once per content (`tests/flows/test_router.py` makes one by a real flow)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from storage.artifacts import Home
from tasks.pages import publish
from tests.models.report.training_sample import training


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
