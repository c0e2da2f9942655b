"""Train the router that walks structure H: `strata train-router --dataset NAME`."""

from __future__ import annotations

from typing import Any

from prefect import flow

from storage.artifacts import Home
from tasks.progress import finish
from tasks.router import TrainingConfig, gather_router, plan_training, router_key, train_router_fold
from tasks.router_report import write_training_report
from tasks.runner import thread_runner
from tasks.settings import Settings


@flow(name="train_router", task_runner=thread_runner())
def train_router(
    dataset: str, home: str = ".strata", training: TrainingConfig | None = None, settings: Settings | None = None
) -> dict[str, Any]:
    """Cross-validate a router by conversation; return recall and success on conversations it has not seen."""
    store, config, settings = Home(home), training or TrainingConfig(), settings or Settings()
    folds = plan_training(store, dataset, config, settings)
    missing = [fold for fold in folds if not store.has(fold.key)]
    finish("folds", [train_router_fold.submit(store, fold.key, [], dataset, fold, settings) for fold in missing])
    kept = [fold for fold in folds if fold.config == folds[-1].config]
    key = router_key(dataset, kept)
    gather_router.submit(store, key, [], [str(fold.key) for fold in kept]).result()
    return write_training_report(store, dataset, config, folds, key, settings, bool(missing))
