"""What each command of the command line does: settings, a Prefect API where a flow runs, and a plain result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from models.selector.subsets import parse_subset
from storage.artifacts import Home
from storage.catalog import export_table, read_table
from storage.shards import datasets
from tasks.prefect_server import prefect_api, wait_until_ready
from tasks.settings import Settings, SettingsError, load_settings

COMPARED = ("S", "T", "G", "V", "R", "T+V", "S+T+V", "all", "random", "long-context")
"""What `strata run` compares: each structure, some compositions, and the baselines."""


def settings_of(
    config: str | None,
    answerer: str | None = None,
    judge: str | None = None,
    dataset: str | None = None,
    seed: int | None = None,
) -> Settings:
    """The settings of a file, with the models and the generator's seed that the command line names."""
    settings = load_settings(config)
    settings = dataclasses.replace(settings, answerer=answerer or settings.answerer, judge=judge or settings.judge)
    if dataset is None or seed is None or not hasattr(settings.corpus(dataset), "seed"):
        return settings
    seeded = {**settings.corpora.get(dataset, {}), "seed": seed}
    return dataclasses.replace(settings, corpora={**settings.corpora, dataset: seeded})


def letters_of(structures: str) -> tuple[str, ...]:
    """Letters in the fixed order from `S,T,G`. `SettingsError` for an unknown one."""
    try:
        return parse_subset(structures)
    except ValueError as error:
        raise SettingsError(f"--structures {structures!r}: {error}") from error


def ingest(home: Home, dataset: str, source: str | None, settings: Settings, limit: int | None) -> dict[str, Any]:
    """Run the flow `ingest_episodes`."""
    settings.corpus(dataset)
    with prefect_api(home):
        from flows.ingest_episodes import ingest_episodes

        wait_until_ready()
        return ingest_episodes(dataset, source, home.url, settings, limit)


def build(home: Home, dataset: str, structures: str, settings: Settings, **options: Any) -> dict[str, Any]:
    """Run the flow `build_memory`. `options` are its limits: episodes, tokens, money."""
    letters = letters_of(structures)
    with prefect_api(home):
        from flows.build_memory import build_memory
        from tasks.evaluation import require_dataset

        require_dataset(home, dataset)
        wait_until_ready()
        report: dict[str, Any] = build_memory(dataset, home.url, letters, settings, **options)
        return report


def evaluate(home: Home, dataset: str, settings: Settings, dry_run: bool, **options: Any) -> dict[str, Any]:
    """Run the flow `evaluate_policy`, or say what it would cost. `options` are the fields of `EvaluationConfig`."""
    with prefect_api(home):
        from flows.evaluate_policy import evaluate_policy
        from tasks.estimate import estimate
        from tasks.evaluation import EvaluationConfig, plan_evaluation

        config = EvaluationConfig(**options)
        plan = plan_evaluation(home, dataset, config, settings)  # wrong usage ends here, before a flow run exists
        if dry_run:
            return estimate(home, plan)
        wait_until_ready()
        return evaluate_policy(dataset, home.url, config, settings)


def run(home: Home, dataset: str, source: str | None, settings: Settings, **options: Any) -> dict[str, Any]:
    """Run the flow `run_pipeline`."""
    settings.corpus(dataset)
    with prefect_api(home):
        from flows.run_pipeline import run_pipeline
        from tasks.evaluation import EvaluationConfig

        wait_until_ready()
        return run_pipeline(dataset, source, home.url, EvaluationConfig(**options), settings)


def judge(home: Home, answers: str, dataset: str | None, settings: Settings, **options: Any) -> dict[str, Any]:
    """Score saved answers; no flow runs. `options` are the fields of `RescoreConfig`."""
    from tasks.rescore import RescoreConfig, rescore

    return rescore(home, answers, _only_dataset(home, dataset), settings, RescoreConfig(**options))


def _only_dataset(home: Home, dataset: str | None) -> str:
    if dataset is not None:
        return dataset
    found = datasets(home)
    if len(found) != 1:
        raise SettingsError(f"--dataset is needed: {home.url} holds {', '.join(found) or 'no data set'}")
    return found[0]


def report(home: Home, dataset: str) -> dict[str, Any]:
    """The last evaluation's summary with the text of its page."""
    from tasks.report import read_latest

    return read_latest(home, dataset)


def ask(home: Home, dataset: str, episode: str, question: str, settings: Settings, **options: Any) -> dict[str, Any]:
    """Answer one question; no flow runs. `options` are the structures at hand and the policy that chooses from them."""
    from tasks.ask import ask

    return ask(home, dataset, episode, question, settings, **options)


def status(home: Home, settings: Settings) -> dict[str, Any]:
    """What the home holds."""
    from tasks.inventory import status

    return status(home, settings)


def export(home: Home, table: str, dataset: str, out: str, settings: Settings, limit: int | None) -> dict[str, Any]:
    """Write a table to a file."""
    from tasks.evaluation import require_dataset
    from tasks.inventory import table_parts

    rows = read_table(home, table_parts(home, require_dataset(home, dataset), table, settings, limit))
    export_table(rows, out)
    return {"table": table, "dataset": dataset, "rows": rows.num_rows, "out": out}


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the command line names; the settings decide the others."""
    return {name: value for name, value in options.items() if value is not None}


def sweep(home: Home, dataset: str, settings: Settings, dry_run: bool, **options: Any) -> dict[str, Any]:
    """Run the flow `sweep_subsets`, or say what it would cost. `options` are the fields of `SweepConfig`."""
    with prefect_api(home):
        from flows.sweep_subsets import sweep_subsets
        from tasks.estimate import estimate_sweep
        from tasks.selector_config import SweepConfig
        from tasks.sweep import plan_sweep

        config = SweepConfig(**{"cost": settings.selector.cost, **_given(options)})
        plan = plan_sweep(home, dataset, config, settings)
        if dry_run:
            return estimate_sweep(home, plan)
        wait_until_ready()
        return sweep_subsets(dataset, home.url, config, settings)


def search(home: Home, dataset: str, settings: Settings, **options: Any) -> dict[str, Any]:
    """Run the flow `search_selector`. `options` are the fields of `SelectorConfig`."""
    with prefect_api(home):
        from flows.search_selector import search_selector
        from tasks.search import finished_sweep

        config = dataclasses.replace(settings.selector, **_given(options))
        finished_sweep(home, dataset, config, settings)
        wait_until_ready()
        return search_selector(dataset, home.url, config, settings)


def ablate(home: Home, dataset: str, settings: Settings, zero_shot: str, **options: Any) -> dict[str, Any]:
    """Run the flow `ablate_selector`. `options` are the fields of `SelectorConfig`; `zero_shot` may name a model."""
    with prefect_api(home):
        from flows.ablate_selector import ablate_selector
        from tasks.search import finished_sweep

        config = dataclasses.replace(settings.selector, **_given(options))
        finished_sweep(home, dataset, config, settings)
        wait_until_ready()
        return ablate_selector(dataset, home.url, config, settings, zero_shot)


def train_router(home: Home, dataset: str, settings: Settings, **options: Any) -> dict[str, Any]:
    """Run the flow `train_router`. `options` are the fields of `TrainingConfig`."""
    with prefect_api(home):
        from flows.train_router import train_router
        from tasks.router import TrainingConfig
        from tasks.router_data import plan_graphs

        config = TrainingConfig(**options)
        try:
            config.modes()
        except ValueError as error:
            raise SettingsError(f"--preset: {error}") from error
        plan_graphs(home, dataset, settings)
        wait_until_ready()
        return train_router(dataset, home.url, config, settings)


def check_models(home: Home, settings: Settings, proposer: str | None) -> dict[str, Any]:
    """One call to each configured model; no flow runs."""
    from tasks.check_models import check_models

    return check_models(home, settings, proposer or settings.selector.proposer)


def policy(home: Home, dataset: str, name: str) -> dict[str, Any]:
    """A saved policy: source, parameters, origin."""
    from tasks.policies import load_policy

    return load_policy(home, dataset, name)


def compare(home: Home, dataset: str, stage: str, metric: str, top: int) -> dict[str, Any]:
    """Runs of one stage side by side, best first, from MLflow."""
    from tasks.tracking import search_runs

    return {"dataset": dataset, "stage": stage, "metric": metric, "runs": search_runs(home, dataset, stage, metric, top)}
