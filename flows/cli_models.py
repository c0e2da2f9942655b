"""The commands about models: check."""

from __future__ import annotations

import typer

from flows.options import Answerer, Config, HomeUrl, Json, Judge, Proposer, show
from storage.artifacts import Home


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    models = typer.Typer(help="Language models and encoders.")
    models.callback()(_group)
    models.command("check")(check)
    app.add_typer(models, name="models")


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
