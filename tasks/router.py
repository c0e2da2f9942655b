"""Training a router by cross-validation: one cached, resumable task per fold and mode, and one artifact with all folds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from models.router.evaluate import RecallRow
from models.router.folds import FOLDS, Fold, make_folds
from models.router.learner import EpochRecord, TrainingState
from models.router.presets import MODES, Mode, RouterConfig, preset
from models.router.train import FoldResult, baseline_walks, train_fold
from models.router.weights import dump_state, dump_weights, load_state
from storage.artifacts import ArtifactKey, Draft, Home, canonical_json, digest
from storage.tables import TABLE
from tasks.artifact_task import artifact_task
from tasks.router_data import RouterData, read_router_data
from tasks.routers import FOLDS_FILE, fold_file
from tasks.settings import Settings

VERSION = 2
RESULT, WEIGHTS = "fold.json", "router.safetensors"
SAVE_EVERY = 5
"""Epochs between two saved states; a stop costs at most as many."""


@dataclass(frozen=True)
class TrainingConfig:
    """One training. `preset` is `best` or `paper`, which trains every mode (the last one is kept); `epochs` 0 is its own."""

    preset: str = "best"
    seed: int = 0
    folds: int = FOLDS
    epochs: int = 0

    def modes(self) -> list[RouterConfig]:
        """The settings to train, the one to keep last. `ValueError` for an unknown preset."""
        config = preset(self.preset)
        if self.epochs and config.reinforce is not None:
            config = replace(config, reinforce=replace(config.reinforce, epochs=self.epochs))
        if self.epochs and config.ranker is not None:
            config = replace(config, ranker=replace(config.ranker, epochs=self.epochs, exchange_epochs=self.epochs))
        if config.reinforce is None:
            return [config]
        trained: list[Mode] = [mode for mode in MODES if mode != "static"]
        return [replace(config, mode=mode) for mode in trained]


@dataclass(frozen=True)
class FoldTask:
    """One fold of one mode, and the artifact that holds it."""

    config: RouterConfig
    fold: Fold
    seed: int
    key: ArtifactKey


def plan_training(home: Home, dataset: str, config: TrainingConfig, settings: Settings) -> list[FoldTask]:
    """Every fold of every mode, the modes in order. Raises as `read_router_data` does; `ValueError` for too few episodes."""
    data = read_router_data(home, dataset, settings)
    return [
        FoldTask(mode, fold, config.seed, _fold_key(dataset, mode, fold, config.seed, data))
        for mode in config.modes()
        for fold in make_folds(data.episodes, config.seed, config.folds)
    ]


def _fold_key(dataset: str, config: RouterConfig, fold: Fold, seed: int, data: RouterData) -> ArtifactKey:
    return ArtifactKey("training", dataset, VERSION, {"router": config, "fold": fold, "seed": seed}, data.keys)


@artifact_task
def train_router_fold(home: Home, draft: Draft, dataset: str, task: FoldTask, settings: Settings) -> None:
    """Train one fold; its weights, history and test results. A stopped training goes on from its last saved state."""
    data = read_router_data(home, dataset, settings, task.config.adversarial)
    state = home.local("training-states") / f"{digest(str(task.key))}.safetensors"

    def keep(record: EpochRecord, current: TrainingState) -> None:
        if record.epoch % SAVE_EVERY == SAVE_EVERY - 1:
            draft = state.with_suffix(".part")
            draft.write_bytes(dump_state(current))
            draft.replace(state)  # a kill leaves the old state

    resumed = load_state(state.read_bytes()) if state.is_file() else None
    result = train_fold(data.graphs, data.questions, task.fold, task.config, task.seed, resumed, keep)
    (draft.folder / WEIGHTS).write_bytes(dump_weights(result.weights))
    (draft.folder / RESULT).write_text(canonical_json(_result_json(data, result, task)), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist([asdict(row) for row in result.recalls]), draft.folder / TABLE)
    draft.manifest["rows"] = len(result.recalls)
    state.unlink(missing_ok=True)


def _result_json(data: RouterData, result: FoldResult, task: FoldTask) -> dict[str, Any]:
    reinforce = task.config.reinforce
    baselines = (
        {} if reinforce is None else baseline_walks(data.graphs, data.questions, result.fold.test, reinforce, task.seed)
    )
    return {
        "mode": task.config.mode,
        "fold": asdict(result.fold),
        "history": [asdict(record) for record in result.history],
        "best_epochs": dict(result.best_epochs),
        "validation": _best_quality(result.history),
        "walks": None if result.walks is None else asdict(result.walks),
        "baselines": {name: asdict(scores) for name, scores in baselines.items()},
    }


def _best_quality(history: Sequence[EpochRecord]) -> float:
    """The best validation number of the last stage: recall where there is one of a ranking, else success."""
    last = [record for record in history if record.stage == history[-1].stage] if history else []
    values = [v for record in last if (v := record.success if record.success is not None else record.recall) is not None]
    return max(values, default=0.0)


def router_key(dataset: str, tasks: Sequence[FoldTask]) -> ArtifactKey:
    """The artifact with the folds of one mode, which structure H walks with."""
    config = {"router": tasks[0].config, "seed": tasks[0].seed}
    return ArtifactKey("routers", dataset, VERSION, config, tuple(str(task.key) for task in tasks))


@artifact_task
def gather_router(home: Home, draft: Draft, folds: Sequence[str]) -> None:
    """Copy the weights of all folds into one artifact and write which episode each fold tested."""
    results = [read_fold(home, key) for key in folds]
    for number, key in enumerate(folds):
        (draft.folder / fold_file(number)).write_bytes(home.fs.cat_file(f"{home.require(key)}/{WEIGHTS}"))
    qualities = [result["validation"] for result in results]
    summary = {"folds": [result["fold"] for result in results], "best": qualities.index(max(qualities))}
    (draft.folder / FOLDS_FILE).write_text(canonical_json(summary), encoding="utf-8")
    draft.manifest["folds"] = list(folds)


def read_fold(home: Home, key: ArtifactKey | str) -> dict[str, Any]:
    """The history and test results of a finished fold."""
    found: dict[str, Any] = json.loads(home.fs.cat_file(f"{home.require(key)}/{RESULT}"))
    return found


def read_recalls(home: Home, key: ArtifactKey | str) -> list[RecallRow]:
    """The recall of every test question of a finished fold."""
    rows: Sequence[Mapping[str, Any]] = pq.read_table(f"{home.require(key)}/{TABLE}", filesystem=home.fs).to_pylist()
    return [RecallRow(**row) for row in rows]
