"""The command line: `strata COMMAND`. Each command reads its options, calls `flows.commands` and prints the result.

With `--json` exactly one JSON object goes to stdout; everything else goes to stderr. Exit codes: 0 done, 1 failed, 2 wrong
usage. Heavy imports wait until a command needs them.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from flows import cli_home, cli_models, cli_selector
from flows.options import (
    ALL,
    Answerer,
    Audit,
    Config,
    Dataset,
    DryRun,
    HomeUrl,
    Json,
    Judge,
    Limit,
    MaxCost,
    MaxTokens,
    Metric,
    Policies,
    Seed,
    Source,
    Structures,
    TestOf,
    show,
)
from storage.artifacts import ArtifactError, Home
from storage.catalog import ExportError
from storage.corpora.base import CorpusError

app = typer.Typer(name="strata", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

cli_selector.register(app)
cli_models.register(app)
cli_home.register(app)


@app.command()
def ingest(
    dataset: Annotated[str, typer.Argument(help="ama-bench, locomo, hotpotqa or babyai.")],
    source: Source = None,
    home: HomeUrl = ".strata",
    config: Config = None,
    seed: Seed = None,
    limit: Limit = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Exit 0 although some records could not be read.")] = False,
    as_json: Json = False,
) -> None:
    """Read episodes into the home; unchanged ones are recognised and left alone."""
    from flows import commands, text

    settings = commands.settings_of(config, dataset=dataset, seed=seed)
    result = commands.ingest(Home(home), dataset, source, settings, limit)
    show(result, as_json, text.ingest)
    _complain(result["bad_records"], skip_bad)


@app.command()
def build(
    dataset: Dataset,
    structures: Structures = ALL,
    home: HomeUrl = ".strata",
    config: Config = None,
    seed: Seed = None,
    limit: Limit = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    as_json: Json = False,
) -> None:
    """Build structures and the evidence of every question; only what is missing."""
    from flows import commands, text

    options = {"limit": limit, "max_tokens": max_tokens, "max_cost": max_cost}
    settings = commands.settings_of(config)
    show(commands.build(Home(home), dataset, structures, settings, **options), as_json, text.build)


@app.command()
def evaluate(
    dataset: Dataset,
    policy: Policies = None,
    metric: Metric = "f1",
    answerer: Answerer = None,
    judge: Judge = None,
    structures: Structures = ALL,
    split: TestOf = None,
    audit: Audit = None,
    home: HomeUrl = ".strata",
    config: Config = None,
    seed: Seed = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    as_json: Json = False,
) -> None:
    """Answer the questions with what each policy reads, score the answers and write the report."""
    from flows import commands, text

    options = {
        "policies": tuple(policy or ("all",)),
        "metric": metric,
        "structures": commands.letters_of(structures),
        "seed": seed or 0,
        "limit": limit,
        "split": split,
        "audit": audit,
        "max_tokens": max_tokens,
        "max_cost": max_cost,
    }
    settings = commands.settings_of(config, answerer, judge)
    show(commands.evaluate(Home(home), dataset, settings, dry_run, **options), as_json, text.evaluation)


@app.command()
def run(
    dataset: Annotated[str, typer.Argument(help="A data set; the default generates its own.")] = "babyai",
    source: Source = None,
    policy: Policies = None,
    metric: Metric = "f1",
    answerer: Answerer = None,
    judge: Judge = None,
    structures: Structures = ALL,
    audit: Audit = None,
    home: HomeUrl = ".strata",
    config: Config = None,
    seed: Seed = None,
    limit: Limit = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Exit 0 although some records could not be read.")] = False,
    as_json: Json = False,
) -> None:
    """The whole pipeline: ingest, build, evaluate, report."""
    from flows import commands, text

    options = {
        "policies": tuple(policy or commands.COMPARED),
        "metric": metric,
        "structures": commands.letters_of(structures),
        "seed": seed or 0,
        "limit": limit,
        "audit": audit,
        "max_tokens": max_tokens,
        "max_cost": max_cost,
    }
    settings = commands.settings_of(config, answerer, judge, dataset, seed)
    result = commands.run(Home(home), dataset, source, settings, **options)
    show(result, as_json, text.pipeline)
    _complain(result["ingest"]["bad_records"], skip_bad)


@app.command()
def judge(
    answers: Annotated[str, typer.Argument(help="Saved answers, JSONL or Parquet (README, Re-scoring answers).")],
    dataset: Annotated[str | None, typer.Option("--dataset", help="Needed when several data sets are ingested.")] = None,
    metric: Metric = "f1",
    judge: Annotated[
        list[str] | None, typer.Option("--judge", help="The language model that judges, for --metric judge; repeatable.")
    ] = None,
    audit: Audit = None,
    home: HomeUrl = ".strata",
    config: Config = None,
    seed: Seed = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    as_json: Json = False,
) -> None:
    """Score answers that were made elsewhere."""
    from flows import commands, text

    options = {
        "judges": tuple(judge or ()),
        "metric": metric,
        "audit": audit,
        "limit": limit,
        "dry_run": dry_run,
        "max_tokens": max_tokens,
        "max_cost": max_cost,
    }
    settings = commands.settings_of(config)
    show(commands.judge(Home(home), answers, dataset, settings, **options), as_json, text.rescored)


@app.command()
def report(dataset: Dataset, home: HomeUrl = ".strata", as_json: Json = False) -> None:
    """Print the last evaluation's report and where its pages are."""
    from flows import commands, text

    show(commands.report(Home(home), dataset), as_json, text.report)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    dataset: Dataset,
    episode: Annotated[str, typer.Option("--episode", help="The episode that it is about.")],
    structures: Structures = ALL,
    policy: Annotated[str, typer.Option("--policy", help="What to read of the structures, as for `evaluate`.")] = "all",
    answerer: Answerer = None,
    home: HomeUrl = ".strata",
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Answer one question about one episode and show what was read for it."""
    from flows import commands, text

    settings = commands.settings_of(config, answerer)
    options = {"structures": commands.letters_of(structures), "policy": policy}
    show(commands.ask(Home(home), dataset, episode, question, settings, **options), as_json, text.asked)


@app.command()
def export(
    table: Annotated[str, typer.Argument(help="The table's name; a wrong one lists them all.")],
    dataset: Dataset,
    out: Annotated[str, typer.Option("--out", help="File to write; its ending chooses Parquet, JSONL or CSV.")],
    home: HomeUrl = ".strata",
    config: Config = None,
    limit: Limit = None,
    as_json: Json = False,
) -> None:
    """Write a table to a file."""
    from flows import commands, text

    settings = commands.settings_of(config)
    show(commands.export(Home(home), table, dataset, out, settings, limit), as_json, text.exported)


def _complain(bad_records: list[str], skip_bad: bool) -> None:
    for record in bad_records:
        print(f"strata: left out: {record}", file=sys.stderr)
    if bad_records and not skip_bad:
        raise typer.Exit(1)


def main() -> None:
    """Entry point of the console script."""
    from models.llm.backends import UnknownBackendError
    from models.saved_answers import AnswersError
    from tasks.budget import BudgetSpentError
    from tasks.prefect_server import PrefectServerError
    from tasks.settings import SettingsError

    try:
        app()
    except (SettingsError, UnknownBackendError) as error:
        print(f"strata: {error}", file=sys.stderr)
        sys.exit(2)
    except (ArtifactError, AnswersError, BudgetSpentError, CorpusError, ExportError, PrefectServerError) as error:
        print(f"strata: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
