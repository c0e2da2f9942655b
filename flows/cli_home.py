"""The commands about a home itself: status, forget, compact."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from flows.options import Config, Dataset, HomeUrl, Json, show
from storage.artifacts import Home

Verify = Annotated[bool, typer.Option("--verify", help="Read every file and say what is wrong; exit 1 if anything is.")]
Repair = Annotated[bool, typer.Option("--repair", help="The same, and make right what can be made right.")]
Episodes = Annotated[list[str] | None, typer.Argument(help="The episodes to forget.")]
WholeCorpus = Annotated[bool, typer.Option("--all", help="Forget the whole data set.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(status)
    app.command()(forget)
    app.command()(compact)


def status(
    home: HomeUrl = ".strata",
    config: Config = None,
    verify: Verify = False,
    repair: Repair = False,
    as_json: Json = False,
) -> None:
    """What the home holds: data sets, built structures, the last evaluation, tokens spent; or whether it is whole."""
    from flows import commands, text

    if not (verify or repair):
        show(commands.status(Home(home), commands.settings_of(config)), as_json, text.status)
        return
    result = _check(Home(home), config, repair)
    show(result, as_json, _say_problems)
    if result["left" if repair else "problems"]:
        raise typer.Exit(1)


def _check(home: Home, config: str | None, repairs: bool) -> dict[str, Any]:
    from flows import commands
    from tasks.verify import repair, verified

    return repair(home, commands.settings_of(config)) if repairs else verified(home)


def _say_problems(result: dict[str, Any]) -> None:
    for problem in result["problems"]:
        print(f"{problem['path']}: {problem['what']}\n    {problem['do']}")
    if "left" not in result:
        print(f"{result['artifacts']:,} artifacts of {result['home']}, {len(result['problems'])} problems")
        return
    print(f"{len(result['problems'])} problems, {len(result['left'])} left")
    if result["set_aside"]:
        print(f"set aside: {result['set_aside']}")


def forget(
    dataset: Dataset,
    episodes: Episodes = None,
    everything: WholeCorpus = False,
    home: HomeUrl = ".strata",
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Remove episodes from everything that the home holds, and prove that nothing of them is left."""
    from flows import commands
    from tasks.forget import forget

    if bool(episodes) == everything:
        raise typer.BadParameter("strata forget takes episodes, or --all for the whole data set")
    settings = commands.settings_of(config)
    show(forget(Home(home), dataset, None if everything else tuple(episodes or ()), settings), as_json, _say_forgotten)


def _say_forgotten(result: dict[str, Any]) -> None:
    print(
        f"forgotten: {len(result['forgotten'])} episodes of {result['dataset']}\n"
        f"removed: {result['artifacts_removed']} artifacts, {result['journal_records']} journalled completions, "
        f"{result['pages']} pages and trainings; carried over without them: {result['artifacts_carried']} artifacts\n"
        f"searched: no file of the home holds any of {result['searched_for']} ids and runs of their words"
    )
    if result["runs_elsewhere"]:
        print(f"{len(result['runs_elsewhere'])} runs of your MLflow server are deleted; its `mlflow gc` erases them")


def compact(dataset: Dataset, home: HomeUrl = ".strata", config: Config = None, as_json: Json = False) -> None:
    """Merge small shards and drop superseded rows; nothing is computed or paid for again."""
    from flows import commands
    from tasks.compact import compact

    show(compact(Home(home), dataset, commands.settings_of(config)), as_json, _say_compacted)


def _say_compacted(result: dict[str, Any]) -> None:
    print(
        f"{result['dataset']}: {result['shards_before']} shards are {result['shards_after']} now, {result['superseded']} "
        f"superseded episodes dropped, {result['artifacts_carried']} artifacts carried over"
    )
