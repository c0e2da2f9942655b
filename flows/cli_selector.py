"""The commands that learn what to read: sweep, search, ablate, policy, compare."""

from __future__ import annotations

import typer

from flows.options import (
    ALL,
    Answerer,
    Config,
    Cost,
    Dataset,
    DryRun,
    HomeUrl,
    Json,
    Judge,
    Limit,
    MaxTokens,
    Metric,
    Seed,
    Structures,
    show,
)
from storage.artifacts import Home


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(sweep)


def sweep(
    dataset: Dataset,
    metric: Metric = "f1",
    answerer: Answerer = None,
    judge: Judge = None,
    structures: Structures = ALL,
    cost: Cost = 1e-6,
    home: HomeUrl = ".strata",
    config: Config = None,
    seed: Seed = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    max_tokens: MaxTokens = None,
    as_json: Json = False,
) -> None:
    """Answer every question with every subset of the structures; only what is missing."""
    from flows import commands, text

    options = {
        "structures": commands.letters_of(structures),
        "metric": metric,
        "limit": limit,
        "max_tokens": max_tokens,
        "cost": cost,
    }
    settings = commands.settings_of(config, answerer, judge)
    show(commands.sweep(Home(home), dataset, settings, dry_run, **options), as_json, text.swept)
