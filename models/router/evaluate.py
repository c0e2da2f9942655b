"""How much of the gold evidence a walk brings back at a number of events, beside rankings without a walk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.aggregate import Interval, bootstrap_interval
from models.metrics.evidence_recall import evidence_recall
from models.router.questions import RouterQuestion
from storage.structures.event_ranking import BASELINES, baseline_orders
from storage.structures.event_walk import WalkConfig, traverse
from storage.structures.events import EventGraph, Router

WALK = "H"
DEPTHS = (15, 30)


@dataclass(frozen=True, slots=True)
class RecallRow:
    """The share of one question's gold evidence among the first `depth` events of a `method`: `H` or one of `BASELINES`."""

    question_id: str
    episode_id: str
    capability: str
    method: str
    depth: int
    recall: float


@dataclass(frozen=True, slots=True)
class RecallGap:
    """Mean of (H - `method`) per question at `depth`, and its interval over resampled conversations (None for one)."""

    method: str
    depth: int
    mean: float
    interval: Interval | None
    n: int


def recall_rows(
    graphs: Mapping[str, EventGraph],
    questions: Sequence[RouterQuestion],
    router: Router | None,
    walk: WalkConfig,
    depths: Sequence[int] = DEPTHS,
) -> tuple[RecallRow, ...]:
    """One row per question, method and depth. At every depth the walk has a budget of as many events."""
    rows: list[RecallRow] = []
    for question in questions:
        graph = graphs[question.episode_id]
        orders = {name: order.tolist() for name, order in baseline_orders(graph, question.text, question.vector).items()}
        for depth in depths:
            found = {name: orders[name][:depth] for name in BASELINES}
            found[WALK] = _walked(graph, question, router, replace(walk, budget=depth))
            rows.extend(_row(question, graph, method, depth, places) for method, places in found.items())
    return tuple(rows)


def mean_recall(rows: Sequence[RecallRow]) -> dict[str, dict[int, float]]:
    """The mean over questions by method and depth."""
    values: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        values.setdefault(row.method, {}).setdefault(row.depth, []).append(row.recall)
    return {
        method: {depth: float(np.mean(found)) for depth, found in by_depth.items()} for method, by_depth in values.items()
    }


def recall_gaps(rows: Sequence[RecallRow], method: str, seed: int = 0) -> tuple[RecallGap, ...]:
    """How much more H finds than `method` on the same questions, at every depth."""
    by_key = {(row.method, row.depth, row.question_id): row for row in rows}
    gaps = []
    for depth in sorted({row.depth for row in rows}):
        own = [row for row in rows if (row.method, row.depth) == (WALK, depth)]
        differences = [row.recall - by_key[method, depth, row.question_id].recall for row in own]
        interval = bootstrap_interval(differences, [row.episode_id for row in own], np.random.default_rng(seed))
        gaps.append(RecallGap(method, depth, float(np.mean(differences)), interval, len(own)))
    return tuple(gaps)


def _walked(graph: EventGraph, question: RouterQuestion, router: Router | None, walk: WalkConfig) -> list[int]:
    asked = (graph, question.text, question.vector, question.intent)
    judgement = None if router is None else router.judge(*asked)
    return list(traverse(*asked, judgement, walk).order[: walk.budget])


def _row(question: RouterQuestion, graph: EventGraph, method: str, depth: int, places: Sequence[int]) -> RecallRow:
    recall = evidence_recall(graph.steps[list(places)].tolist(), question.targets)
    if recall is None:
        raise ValueError(f"{question.question_id} has no gold evidence: leave it out (`questions.trainable`)")
    return RecallRow(question.question_id, question.episode_id, question.capability, method, depth, recall)
