"""Scores of answers, by a metric or by a judge, whoever gave the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from models.judge import JudgeItem, Judgement
from models.metrics import METRICS
from storage.artifacts import Home
from tasks.evaluation import JUDGE
from tasks.paid import paid_judgements
from tasks.settings import Settings

Scored = list[tuple[float | None, str]]
"""(score, status) per answer; the score is None unless the status is `ok`."""


class Asked(NamedTuple):
    """A question's row, its episode's task, and the answer; None where there is none."""

    question: Mapping[str, Any]
    task: str
    answer: str | None


def score_answers(home: Home, settings: Settings, metric: str, asked: Sequence[Asked], budget_id: str) -> Scored:
    """Score each answer with `metric`: a key of `METRICS`, or `judge`. No answer is an error, never a wrong answer."""
    if metric == JUDGE:
        return _judged(home, settings, asked, budget_id)
    return [(None, "error") if a.answer is None else (_measured(metric, a.question, a.answer), "ok") for a in asked]


def _measured(metric: str, question: Mapping[str, Any], answer: str) -> float:
    return METRICS[metric](answer, question["answer"], question["capability"])


def _judged(home: Home, settings: Settings, asked: Sequence[Asked], budget_id: str) -> Scored:
    items = {
        i: JudgeItem(a.question["question_id"], a.question["question"], a.question["answer"], a.answer, a.task)
        for i, a in enumerate(asked)
        if a.answer is not None
    }
    judgements = dict(zip(items, paid_judgements(home, settings, list(items.values()), budget_id), strict=True))
    return [_verdict_score(judgements[i]) if i in judgements else (None, "error") for i in range(len(asked))]


def _verdict_score(judgement: Judgement) -> tuple[float | None, str]:
    """Only a clear yes or no has a score."""
    if judgement.verdict in ("correct", "incorrect"):
        return float(judgement.verdict == "correct"), "ok"
    return None, judgement.verdict
