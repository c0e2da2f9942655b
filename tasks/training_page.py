"""The page of a router training: its numbers from the home, one walk, and the page as an artifact."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from models.report.training import ExampleWalk, ModeScores, Recalls, TrainedFold, TrainingPage
from models.router.evaluate import RecallGap
from models.router.learner import EpochRecord
from storage.artifacts import ArtifactKey, Home
from storage.structures.base import Query
from storage.structures.event_graph import EventGraphStructure
from storage.structures.event_index import EventGraphIndex
from tasks.router import FoldTask, read_fold
from tasks.router_data import read_router_data
from tasks.routers import load_routers
from tasks.settings import Settings


def training_page(
    home: Home, tasks: Sequence[FoldTask], router: ArtifactKey, settings: Settings, summary: Mapping[str, Any]
) -> TrainingPage:
    """Everything that a finished training says; `summary` holds its test numbers (`tasks.router_report`)."""
    dataset, preset = summary["dataset"], summary["preset"]
    return TrainingPage(
        title=f"{dataset}: a router that walks structure H ({preset})",
        dataset=dataset,
        metric="evidence_recall",
        answerer="",
        preset=preset,
        seed=summary["seed"],
        router=str(router),
        questions=summary["questions"],
        folds=tuple(_fold(home, task) for task in tasks),
        walks=tuple(ModeScores(mode, **{n: _known(v) for n, v in s.items()}) for mode, s in summary["walks"].items()),
        recall=_recalls(summary["recall"]),
        gaps={method: tuple(map(_gap, gaps)) for method, gaps in summary["gaps"].items()},
        by_fold={entry["fold"]: _recalls(_methods(entry)) for entry in summary["recall_by_fold"]},
        by_capability={name: _recalls(found) for name, found in summary["by_capability"].items()},
        walk=example_walk(home, dataset, tasks, router, settings),
    )


def _fold(home: Home, task: FoldTask) -> TrainedFold:
    result = read_fold(home, task.key)
    history = tuple(EpochRecord(**record) for record in result["history"])
    best = {stage: int(epoch) for stage, epoch in result["best_epochs"].items()}
    return TrainedFold(result["mode"], task.fold.index, tuple(task.fold.test), result["validation"], best, history)


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _methods(entry: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    return {method: by_depth for method, by_depth in entry.items() if method != "fold"}


def _recalls(found: Mapping[str, Mapping[str, float]]) -> Recalls:
    return {method: {int(depth): value for depth, value in by_depth.items()} for method, by_depth in found.items()}


def _gap(entry: Mapping[str, Any]) -> RecallGap:
    ends = entry["interval"]
    return RecallGap(
        entry["method"], entry["depth"], entry["mean"], None if ends is None else (ends[0], ends[1]), entry["n"]
    )


def example_walk(
    home: Home, dataset: str, tasks: Sequence[FoldTask], router: ArtifactKey, settings: Settings
) -> ExampleWalk | None:
    """H's walk for the first test question of the first kept fold, with that fold's weights, as `explain` tells it.

    The question's gold evidence is not read. None when the fold tests no question.
    """
    fold = next(task.fold for task in tasks if task.config == tasks[-1].config)
    data = read_router_data(home, dataset, settings)
    asked = next((question for question in data.questions if question.episode_id in fold.test), None)
    structure = settings.structure("H")
    if asked is None or not isinstance(structure, EventGraphStructure):
        return None
    index = EventGraphIndex(data.graphs[asked.episode_id], structure.walk, structure.access)
    walker = load_routers(home, str(router)).of(asked.episode_id)
    hops = index.explain(Query(asked.text, asked.vector, router=walker, intent=asked.intent))
    return ExampleWalk(asked.episode_id, asked.text, asked.intent, hops)
