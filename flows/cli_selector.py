"""The commands that learn what to read: sweep, search, ablate, policy, compare."""

from __future__ import annotations

from typing import Annotated

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
    MaxCost,
    MaxTokens,
    Metric,
    Proposer,
    Seed,
    SplitNumber,
    Structures,
    show,
)
from storage.artifacts import Home

Beta = Annotated[float | None, typer.Option("--beta", min=0.0, help="The UCB coefficient (MESA, Eq. 9).")]
Iterations = Annotated[int | None, typer.Option("--iterations", min=1, help="Three candidates each.")]
NoGold = Annotated[
    bool, typer.Option("--no-gold-in-proposer", help="Tell the proposer objectives only, no summary of what fails.")
]
SearchMetric = Annotated[str | None, typer.Option("--metric", help="As of the sweep: f1, judge, support, ...")]
SearchStructures = Annotated[str | None, typer.Option("--structures", help="As of the sweep, such as S,T,G,V,R.")]
Metadata = Annotated[
    bool | None, typer.Option("--metadata/--no-metadata", help="Show policies capability, domain and task type.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(sweep)
    app.command()(search)
    app.command()(compare)
    ablations = typer.Typer(help="Ablation tables.")
    ablations.command("selector")(ablate_selector)
    app.add_typer(ablations, name="ablate")
    policies = typer.Typer(help="Saved policies.")
    policies.command("show")(show_policy)
    app.add_typer(policies, name="policy")


def sweep(
    dataset: Dataset,
    metric: Metric = "f1",
    answerer: Answerer = None,
    judge: Judge = None,
    structures: Structures = ALL,
    cost: Cost = None,
    home: HomeUrl = ".strata",
    config: Config = None,
    seed: Seed = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    as_json: Json = False,
) -> None:
    """Answer every question with every subset of the structures; only what is missing."""
    from flows import commands, text

    options = {
        "structures": commands.letters_of(structures),
        "metric": metric,
        "limit": limit,
        "max_tokens": max_tokens,
        "max_cost": max_cost,
        "cost": cost,
    }
    settings = commands.settings_of(config, answerer, judge)
    show(commands.sweep(Home(home), dataset, settings, dry_run, **options), as_json, text.swept)


def search(
    dataset: Dataset,
    metric: SearchMetric = None,
    split: SplitNumber = 0,
    proposer: Proposer = None,
    structures: SearchStructures = None,
    cost: Cost = None,
    beta: Beta = None,
    iterations: Iterations = None,
    metadata: Metadata = None,
    no_gold_in_proposer: NoGold = False,
    answerer: Answerer = None,
    judge: Judge = None,
    home: HomeUrl = ".strata",
    config: Config = None,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Search a policy that selects what to read, from the outcomes of a sweep."""
    from flows import commands, text

    options = {
        "structures": commands.letters_of(structures) if structures else None,
        "metric": metric,
        "split": split,
        "proposer": proposer,
        "iterations": iterations,
        "cost": cost,
        "beta": beta,
        "seed": seed,
        "metadata": metadata,
        "tell_errors": False if no_gold_in_proposer else None,
    }
    settings = commands.settings_of(config, answerer, judge)
    show(commands.search(Home(home), dataset, settings, **options), as_json, text.searched)


def ablate_selector(
    dataset: Dataset,
    metric: SearchMetric = None,
    proposer: Proposer = None,
    zero_shot: Annotated[str, typer.Option("--zero-shot", help="A language model for the row without training.")] = "",
    structures: SearchStructures = None,
    cost: Cost = None,
    beta: Beta = None,
    iterations: Iterations = None,
    answerer: Answerer = None,
    judge: Judge = None,
    home: HomeUrl = ".strata",
    config: Config = None,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Every way to select structures on five splits: means, deviations, paired differences."""
    from flows import commands, text

    options = {
        "structures": commands.letters_of(structures) if structures else None,
        "metric": metric,
        "proposer": proposer,
        "iterations": iterations,
        "cost": cost,
        "beta": beta,
        "seed": seed,
    }
    settings = commands.settings_of(config, answerer, judge)
    show(commands.ablate(Home(home), dataset, settings, zero_shot, **options), as_json, text.ablated)


def show_policy(
    dataset: Dataset,
    name: Annotated[str, typer.Argument(help="A policy's name, or `champion`.")] = "champion",
    home: HomeUrl = ".strata",
    as_json: Json = False,
) -> None:
    """Print a policy's source, fitted parameters and where it came from."""
    from flows import commands, text

    show(commands.policy(Home(home), dataset, name), as_json, text.policy)


def compare(
    dataset: Dataset,
    stage: Annotated[str, typer.Option("--stage", help="evaluate, sweep, search, ablation or build.")] = "evaluate",
    metric: Annotated[str, typer.Option("--by", help="The metric that orders the runs.")] = "score",
    top: Annotated[int, typer.Option("--top", min=1, help="How many runs.")] = 20,
    home: HomeUrl = ".strata",
    as_json: Json = False,
) -> None:
    """Print MLflow runs side by side."""
    from flows import commands, text

    show(commands.compare(Home(home), dataset, stage, metric, top), as_json, text.compared)
