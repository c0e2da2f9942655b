"""The options that commands share, once each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

Dataset = Annotated[str, typer.Option("--dataset", help="An ingested data set.")]
Source = Annotated[str | None, typer.Argument(help="File or folder; without one it is downloaded or generated.")]
HomeUrl = Annotated[str, typer.Option("--home", envvar="STRATA_HOME", help="Folder or URL that holds everything.")]
Config = Annotated[str | None, typer.Option("--config", help="YAML file with settings (README, Settings).")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of whatever is drawn at random; 0 by default.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N episodes.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Structures = Annotated[str, typer.Option("--structures", help="Which structures, such as S,T,G,V,R.")]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy", help="What to read: S+T, `all`, `random`, `long-context`, `champion`, a saved policy; repeatable."
    ),
]
TestOf = Annotated[int | None, typer.Option("--split", min=0, help="Only the test part of this split by episode.")]
Metric = Annotated[str, typer.Option("--metric", help="f1, judge, support, exact_match, ama_f1 or locomo_f1.")]
Answerer = Annotated[str | None, typer.Option("--answerer", help="`extractive` or a language model (README, Models).")]
Proposer = Annotated[str | None, typer.Option("--proposer", help="`templates`, or a language model.")]
Judge = Annotated[str | None, typer.Option("--judge", help="The language model that judges, for --metric judge.")]
Audit = Annotated[str | None, typer.Option("--audit", help="Audit of wrong gold answers: adds the score without them.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print calls and tokens, spend nothing.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Stop cleanly before more is spent.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0.0, help="The same in money (settings: prices).")]

ALL = "S,T,G,V,R"
Cost = Annotated[float | None, typer.Option("--lambda", min=0.0, help="What a token costs in score (MESA, Eq. 8).")]
SplitNumber = Annotated[int, typer.Option("--split", min=0, help="Which of the seeded splits by episode.")]


def show(result: dict[str, Any], as_json: bool, text: Callable[[dict[str, Any]], None]) -> None:
    """Print a command's result, as one JSON object or for people."""
    if as_json:
        print(json.dumps(result, ensure_ascii=False, default=str))
    else:
        text(result)
