"""How well each structure's access works by itself: evidence recall, support, tokens and latency, without any answer.

For evaluation only: it reads gold answers and gold evidence.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.metrics.evidence_recall import evidence_recall
from models.metrics.support import support
from storage.records import ABSTENTION

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AccessSummary:
    """One structure over `n` questions. Means are None without data; latencies are milliseconds of `access` alone.

    `recall` is over the `recall_n` questions with resolvable gold evidence, `support` over the `support_n` whose gold answer
    adds a content token to the question; adversarial questions, whose gold is abstention, are in neither.
    """

    n: int
    evidence_tokens: float | None
    recall: float | None
    recall_n: int
    support: float | None
    support_n: int
    localised: float | None
    p50_ms: float | None
    p95_ms: float | None


def summarise_access(evidence: Sequence[Row], questions: Mapping[str, Row]) -> AccessSummary:
    """Summarise the evidence rows of one structure; `questions` maps a question id to its row."""
    pairs = [(row, questions[row["question_id"]]) for row in evidence if row["question_id"] in questions]
    answerable = [(row, question) for row, question in pairs if question["answer"] != ABSTENTION]
    recalls = _numbers(evidence_recall(row["steps"], question["evidence_steps"]) for row, question in answerable)
    supports = _numbers(support(row["text"], question["question"], question["answer"]) for row, question in answerable)
    latencies = [float(row["ms"]) for row, _ in pairs]
    return AccessSummary(
        n=len(pairs),
        evidence_tokens=_mean([float(row["n_tokens"]) for row, _ in pairs]),
        recall=_mean(recalls),
        recall_n=len(recalls),
        support=_mean(supports),
        support_n=len(supports),
        localised=_mean([float(row["localised"]) for row, _ in pairs]),
        p50_ms=_percentile(latencies, 50),
        p95_ms=_percentile(latencies, 95),
    )


def _numbers(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _percentile(values: Sequence[float], q: float) -> float | None:
    return float(np.percentile(values, q)) if values else None
