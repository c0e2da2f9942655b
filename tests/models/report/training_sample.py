"""A small page of a router training with invented numbers and, if wanted, hostile names."""

from __future__ import annotations

import math
from typing import Any

from models.report.training import ExampleWalk, ModeScores, Recalls, TrainedFold, TrainingPage
from models.router.evaluate import RecallGap
from models.router.learner import EpochRecord
from storage.structures.event_index import Hop

MODES = ("edge-only", "router-only", "joint")
METHODS = ("H", "dense", "bm25", "fusion")

HOPS = (
    Hop(20, "D2:4", 3.25, None, {}),
    Hop(21, "D2:5", 2.5, 20, {"temporal": 0.5, "semantic": 0.75}),
    Hop(7, "D1:7", 1.5, 20, {"causal": 1.0, "entity": 1.0}),
    Hop(40, "", 1.0, None, {}),
)


def epochs(stage: str, count: int, start: float = 0.0) -> tuple[EpochRecord, ...]:
    """Walks that get better, validated at every second epoch."""

    def record(epoch: int) -> EpochRecord:
        done = 1 - math.exp(-epoch / 10)
        success = start + 0.5 * done if epoch % 2 else None
        return EpochRecord(stage, epoch, 3 - done, 4 * done + start, done, success, success, 0.01 * done)

    return tuple(map(record, range(count)))


def ranked(stage: str, count: int) -> tuple[EpochRecord, ...]:
    """A stage without walks."""
    return tuple(EpochRecord(stage, epoch, 4.0 - epoch, recall=0.8 + 0.01 * epoch) for epoch in range(count))


def fold(number: int, history: tuple[EpochRecord, ...], mode: str = "joint", **more: Any) -> TrainedFold:
    stages = dict.fromkeys(record.stage for record in history)
    fields: dict[str, Any] = {"test": (f"e-{number}",), "validation": 0.5, "best_epochs": dict.fromkeys(stages, 1)}
    return TrainedFold(mode, number, history=history, **{**fields, **more})


def recalls(shift: float = 0.0) -> Recalls:
    return {method: {15: 0.8 - 0.1 * i + shift, 30: 0.9 - 0.1 * i + shift} for i, method in enumerate(METHODS)}


def gap(method: str, depth: int, ends: tuple[float, float] | None = (0.1, 0.3)) -> RecallGap:
    return RecallGap(method, depth, 0.2, ends, 60)


def training(**more: Any) -> TrainingPage:
    """Three modes, two folds; every part of the page is filled."""
    fields: dict[str, Any] = {
        "title": "A training",
        "dataset": "locomo",
        "metric": "evidence_recall",
        "answerer": "",
        "command": "strata train-router",
        "versions": {"strata": "0.1.0"},
        "preset": "paper",
        "seed": 0,
        "router": "routers/locomo/v1-a/b",
        "questions": 60,
        "folds": tuple(
            fold(n, epochs("reinforce", 30, 0.05 * n + 0.1 * m), mode) for m, mode in enumerate(MODES) for n in (0, 1)
        ),
        "walks": (ModeScores("joint", 0.5, 0.4, 0.6, 4.25), ModeScores("random", 0.125, None, 0.2, -0.5)),
        "recall": recalls(),
        "gaps": {method: (gap(method, 15), gap(method, 30)) for method in METHODS[1:]},
        "by_fold": {0: recalls(), 1: recalls(0.01)},
        "by_capability": {"multi_hop": recalls(-0.2), "single_hop": recalls(0.05)},
        "walk": ExampleWalk("e-0", "Where did she go?", "causal", HOPS),
    }
    return TrainingPage(**{**fields, **more})
