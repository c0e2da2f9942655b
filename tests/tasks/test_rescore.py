"""Several judges over the same saved answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storage.artifacts import Home
from tasks.rescore import RescoreConfig, rescore
from tasks.settings import Settings
from tests.fakes import write_ama
from tests.input_cases.pipeline import Pipeline
from tests.models.llm.server import reply, serving


def test_judges_are_compared_and_what_is_judged_is_not_paid_for_again(tmp_path: Path) -> None:
    pipeline = Pipeline(Home(tmp_path / "home"))
    pipeline.ingest(write_ama(tmp_path / "a.jsonl", range(2)))
    answers = tmp_path / "answers.jsonl"
    ids = [f"ama-bench/{episode}/{i}" for episode in range(2) for i in range(4)]
    answers.write_text("".join(json.dumps({"question_id": q, "answer": f"box {q}"}) + "\n" for q in ids))

    with (
        serving(lambda body, seen: reply("yes")) as lenient,
        serving(lambda body, seen: reply("no" if "/1/" in body["messages"][0]["content"] else "yes")) as strict,
    ):
        judges = (f"openai:lenient@{lenient.url}", f"openai:strict@{strict.url}")
        config = RescoreConfig(metric="judge", judges=judges)
        result = rescore(pipeline.home, str(answers), "ama-bench", Settings(), config)
        assert [judge["score"] for judge in result["judges"]] == [1.0, 0.5]
        [pair] = result["agreement"]
        assert (pair["n"], pair["agreement"], pair["kappa"]) == (8, 0.5, 0.0)
        assert (result["majority"]["n"], result["majority"]["score"]) == (4, 1.0)
        assert rescore(pipeline.home, str(answers), "ama-bench", Settings(), config) == result
        assert (len(lenient.bodies), len(strict.bodies)) == (8, 8)


def test_two_judges_double_the_calls_of_a_dry_run(tmp_path: Path) -> None:
    pipeline = Pipeline(Home(tmp_path / "home"))
    pipeline.ingest(write_ama(tmp_path / "a.jsonl", range(1)))
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"question_id": "ama-bench/0/0", "answer": "a box"}) + "\n")
    judges = ("openai:a@http://127.0.0.1:9/v1", "openai:b@http://127.0.0.1:9/v1")
    config = RescoreConfig(metric="judge", judges=judges, dry_run=True)
    assert rescore(pipeline.home, str(answers), "ama-bench", Settings(), config) == {"dry_run": True, "judge_calls": 2}


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
