"""The commands about models: check, train-router."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.options import Answerer, Config, Dataset, HomeUrl, Json, Judge, Proposer, Seed, show
from storage.artifacts import Home


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    models = typer.Typer(help="Language models and encoders.")
    models.callback()(_group)
    models.command("check")(check)
    app.add_typer(models, name="models")
    app.command("train-router")(train_router)


def _group() -> None:
    """Language models and encoders."""


def check(
    answerer: Answerer = None,
    judge: Judge = None,
    proposer: Proposer = None,
    home: HomeUrl = ".strata",
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Call every configured model once: does it work, how fast, how large is its window. Exit 1 when one does not."""
    from flows import commands, text

    result = commands.check_models(Home(home), commands.settings_of(config, answerer, judge), proposer)
    show(result, as_json, text.models)
    if not result["works"]:
        raise typer.Exit(1)


def train_router(
    dataset: Dataset,
    preset: Annotated[str, typer.Option("--preset", help="`best`, or `paper`: HAGE as printed, all modes.")] = "best",
    epochs: Annotated[int, typer.Option("--epochs", min=0, help="Of each stage; 0 is the preset's own number.")] = 0,
    folds: Annotated[int, typer.Option("--folds", min=3, help="Folds by episode.")] = 5,
    home: HomeUrl = ".strata",
    config: Config = None,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Train the router that walks structure H, by cross-validation over episodes."""
    from flows import commands, text

    options = {"preset": preset, "epochs": epochs, "folds": folds, "seed": seed or 0}
    show(commands.train_router(Home(home), dataset, commands.settings_of(config), **options), as_json, text.trained)
