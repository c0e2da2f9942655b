"""What a training found: success of walks by mode, evidence recall beside plain search, MLflow runs, and the champion."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from models.embedders import embedder
from models.router.evaluate import RecallGap, RecallRow, mean_recall, recall_gaps
from storage.artifacts import ArtifactKey, Home, canonical_json
from storage.shards import load_dataset, writer_lock
from storage.structures.event_ranking import BASELINES
from tasks.pages import page_paths, publish
from tasks.router import FoldTask, TrainingConfig, read_fold, read_recalls
from tasks.routers import CHAMPION, champion_path
from tasks.settings import Settings
from tasks.tracking import RunRecord, log_runs, register_model
from tasks.training_page import training_page

CURVES = ("loss", "reward", "train_success", "success", "recall", "edge_drift")


def write_training_report(
    home: Home,
    dataset: str,
    config: TrainingConfig,
    tasks: Sequence[FoldTask],
    router: ArtifactKey,
    settings: Settings,
    new: bool,
) -> dict[str, Any]:
    """Summarise a finished training, log it and make its page where anything is new, promote its router if it wins.

    The summary says where the page lies; a page that was lost is made again.
    """
    path = home.path("training", dataset, f"{str(router).replace('/', '-')}.json")
    saved = None if new else home.read_json(path)
    if saved is not None and "page" in saved and home.has(saved["page"]):
        return {**saved, **page_paths(home, saved["page"])}
    summary = _summary(home, dataset, config, tasks, router)
    page = training_page(home, tasks, router, settings, summary)
    summary |= publish(home, "training", page, lambda pages: _log(home, dataset, config, tasks, settings, summary, pages))
    summary["champion"] = _promote(home, dataset, router, settings, summary)
    home.replace_json(path, summary)
    return summary


def _summary(
    home: Home, dataset: str, config: TrainingConfig, tasks: Sequence[FoldTask], router: ArtifactKey
) -> dict[str, Any]:
    results = [read_fold(home, task.key) for task in tasks]
    kept = [task for task in tasks if task.config == tasks[-1].config]
    rows = [row for task in kept for row in read_recalls(home, task.key)]
    return {
        "dataset": dataset,
        "preset": config.preset,
        "seed": config.seed,
        "router": str(router),
        "questions": len({row.question_id for row in rows}),
        "walks": _walks(results),
        "folds": [_fold_json(task, result) for task, result in zip(tasks, results, strict=True)],
        "recall": {method: {str(k): value for k, value in by.items()} for method, by in mean_recall(rows).items()},
        "recall_by_fold": [_by_fold(home, task) for task in kept],
        "gaps": {method: [_gap_json(gap) for gap in recall_gaps(rows, method)] for method in BASELINES},
        "by_capability": _by_capability(rows),
    }


def _gap_json(gap: RecallGap) -> dict[str, Any]:
    return {**asdict(gap), "interval": None if gap.interval is None else list(gap.interval)}


def _by_fold(home: Home, task: FoldTask) -> dict[str, Any]:
    means = mean_recall(read_recalls(home, task.key))
    return {"fold": task.fold.index, **{m: {str(k): v for k, v in by.items()} for m, by in means.items()}}


def _by_capability(rows: Sequence[RecallRow]) -> dict[str, dict[str, dict[str, float]]]:
    names = sorted({row.capability for row in rows})
    found = {name: mean_recall([row for row in rows if row.capability == name]) for name in names}
    return {name: {m: {str(k): v for k, v in by.items()} for m, by in means.items()} for name, means in found.items()}


def _fold_json(task: FoldTask, result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "mode": result["mode"],
        "fold": task.fold.index,
        "test": list(task.fold.test),
        "validation": result["validation"],
        "best_epochs": result["best_epochs"],
        "walks": result["walks"],
    }


def _walks(results: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Means over the folds of every trained mode, and of the walks that learned nothing beside them."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        if result["walks"] is not None:
            found.setdefault(result["mode"], []).append(result["walks"])
    for result in results:
        if result["mode"] == results[-1]["mode"]:
            for name, scores in result["baselines"].items():
                found.setdefault(name, []).append(scores)
    names = ("success", "moved_success", "recall", "reward")
    return {mode: {name: _mean([s[name] for s in scores]) for name in names} for mode, scores in found.items()}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _log(
    home: Home,
    dataset: str,
    config: TrainingConfig,
    tasks: Sequence[FoldTask],
    settings: Settings,
    summary: Mapping[str, Any],
    pages: Mapping[str, str],
) -> str:
    metrics = {f"recall/{method}/{depth}": v for method, by in summary["recall"].items() for depth, v in by.items()}
    metrics |= {
        f"{name}/{mode}": v for mode, scores in summary["walks"].items() for name, v in scores.items() if v is not None
    }
    parent = RunRecord(
        name=f"train-router {config.preset}",
        params={"preset": config.preset, "seed": config.seed, "folds": config.folds, "router": summary["router"]},
        metrics=metrics,
        tags={"preset": config.preset},
        texts={
            **pages,
            "training.json": canonical_json(summary),
            "settings.json": canonical_json({"config": config, "settings": settings}),
        },
    )
    return log_runs(home, dataset, "train-router", parent, [_child(home, task) for task in tasks])


def _child(home: Home, task: FoldTask) -> RunRecord:
    result = read_fold(home, task.key)
    curves = {name: [r[name] for r in result["history"] if r[name] is not None] for name in CURVES}
    walks = result["walks"] or {}
    metrics = {name: float(walks[name]) for name in ("success", "moved_success", "recall") if walks.get(name) is not None}
    return RunRecord(
        name=f"{result['mode']} fold {task.fold.index}",
        params={"mode": result["mode"], "fold": task.fold.index, "test": ",".join(task.fold.test)[:400]},
        metrics={**{f"test/{name}": value for name, value in metrics.items()}, "validation": result["validation"]},
        tags={"weights": str(task.key)},
        texts={"history.json": canonical_json(result["history"])},
        curves={name: values for name, values in curves.items() if values},
    )


def _promote(
    home: Home, dataset: str, router: ArtifactKey, settings: Settings, summary: Mapping[str, Any]
) -> dict[str, Any]:
    """Put the router in use when its mean validation recall over the folds beats the present champion's.

    Validation conversations decide, never test ones. Over its folds a training validates every conversation once, so two
    trainings of the same content are compared on the same data; one of other content or vectors cannot be, and makes way.
    """
    mine = {
        "router": str(router),
        "validation": statistics.fmean(
            f["validation"] for f in summary["folds"] if f["mode"] == summary["folds"][-1]["mode"]
        ),
        "dataset_hash": load_dataset(home, dataset).digest,
        "embedder": embedder(settings.embedder).name,
    }
    with writer_lock(home, f"router-{dataset}"):
        present = home.read_json(champion_path(home, dataset))
        promoted, reason = _wins(mine, present, summary["preset"])
        if promoted:
            home.replace_json(champion_path(home, dataset), {**mine, "reason": reason})
            register_model(home, f"strata-{dataset}-router", summary["run_id"], CHAMPION)
    return {"promoted": promoted, "reason": reason}


def _wins(mine: Mapping[str, Any], present: Mapping[str, Any] | None, preset: str) -> tuple[bool, str]:
    """Whether a training is put in use, and why."""
    if present is not None and present["router"] == mine["router"]:
        return False, "it is the champion already"
    if preset == "paper":
        return False, "the paper's preset is an experiment; structure H walks with `best`"
    if present is None:
        return True, "the first champion"
    if any(present[name] != mine[name] for name in ("dataset_hash", "embedder")):
        return True, "the champion was trained on other content or other vectors"
    return mine["validation"] > present[
        "validation"
    ], f"validation {mine['validation']:.4f} against {present['validation']:.4f}"
