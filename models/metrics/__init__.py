"""Metrics, one per file. `METRICS` holds those that score one answer against its gold answer without a model.

`evidence_recall` and `support` score an access instead of an answer and have their own signatures.
"""

from __future__ import annotations

from typing import Protocol

from models.metrics.ama_f1 import ama_f1
from models.metrics.exact_match import exact_match
from models.metrics.locomo_f1 import locomo_f1


class AnswerMetric(Protocol):
    """Scores one answer in [0, 1]. Deterministic; never raises for strange text. An integer gold is read as its digits."""

    def __call__(self, prediction: str, gold: str | int, capability: str) -> float: ...


METRICS: dict[str, AnswerMetric] = {"ama_f1": ama_f1, "exact_match": exact_match, "locomo_f1": locomo_f1}


def metric_name(name: str, dataset: str) -> str:
    """The key of `METRICS` that a user's word means: `f1` is the F1 that the data set's authors report.

    Four different token F1s are in use for these data sets (FACTS.md section 15, trap 13), so reports name the key, not
    `f1`. ValueError for an unknown word.
    """
    key = ("locomo_f1" if dataset == "locomo" else "ama_f1") if name == "f1" else name
    if key not in METRICS:
        raise ValueError(f"unknown metric {name!r}: choose f1, {', '.join(METRICS)} or judge")
    return key
