"""The ablation table of the selector: searches on every split, then all methods on the same test parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from models.llm.chat import Chat
from models.report.learning import AblationPage
from models.selector import zero_shot
from models.selector.ablation import AblationConfig, AblationResult, Chooser, Learn, ablate
from models.selector.contract import Case, OutcomeTable
from models.selector.lookups import letters_of
from models.selector.sandbox import Selection
from models.splits import SPLITS
from storage.artifacts import Home, canonical_json
from tasks.budget import open_budget
from tasks.cases import cases
from tasks.outcomes import outcome_table
from tasks.pages import publish, sweep_facts
from tasks.paid import paid_askings
from tasks.readers import model
from tasks.search import read_search, run_champion, search_key, split_of
from tasks.selector_config import SelectorConfig
from tasks.sweep import Sweep
from tasks.tracking import RunRecord, log_runs

VARIANTS = ("mesa", "without_priors", "without_ucb", "without_metadata")


def variant(config: SelectorConfig, name: str, split: int) -> SelectorConfig:
    """The search behind one searched row of the table on one split."""
    own = replace(config, split=split, seed=config.seed + split)
    changes: dict[str, dict[str, Any]] = {
        "mesa": {},
        "without_priors": {"use_priors": False},
        "without_ucb": {"beta": 0.0},
        "without_metadata": {"metadata": False},
    }
    return replace(own, **changes[name])


def all_searches(config: SelectorConfig, splits: int = SPLITS) -> list[SelectorConfig]:
    """Every search that the table needs."""
    return [variant(config, name, split) for split in range(splits) for name in VARIANTS]


def ablation_table(
    home: Home, sweep: Sweep, config: SelectorConfig, zero_shot_model: str = "", splits: int = SPLITS
) -> dict[str, Any]:
    """Test every method on every split; the searches must be finished. Page and MLflow run are made where it is new.

    `zero_shot_model` names a language model that selects without training; "" leaves that row out.
    """
    table = outcome_table(home, sweep, config.structures)
    blind = {
        question: case
        for shard in sweep.shards
        for question, case in cases(home, shard.shard, config.structures, metadata=False).items()
    }
    methods = {name: _searched(home, sweep, config, name, table, blind) for name in VARIANTS}
    if zero_shot_model:
        methods["zero_shot"] = _zero_shot(home, model(zero_shot_model), letters_of(table))
    parts = [split_of(home, sweep, number) for number in range(splits)]
    result = ablate(table, parts, methods, AblationConfig(cost=config.cost))
    summary = _summary(sweep, config, result, splits)
    page = _page(sweep, config, result, splits)
    return {**summary, **publish(home, "ablation", page, lambda texts: _log(home, sweep, summary, texts))}


def _zero_shot(home: Home, chat: Chat, letters: Sequence[str]) -> Learn:
    """A language model asked for each question; the journal pays once for questions that are in several test parts."""

    def choose(asked: Sequence[Case]) -> Sequence[Selection]:
        episodes = [case.question_id.rsplit("/", 1)[0] for case in asked]
        askings = [zero_shot.choose(case, letters) for case in asked]
        return paid_askings(home, "zero-shot", chat, askings, episodes, open_budget()).results

    return lambda train, validation, split: choose


def _searched(
    home: Home, sweep: Sweep, config: SelectorConfig, name: str, table: OutcomeTable, blind: Mapping[str, Case]
) -> Learn:
    """The champion that the search of this split found, on the cases that its policies may see."""
    letters = letters_of(table)

    def learn(_: OutcomeTable, __: OutcomeTable, split: int) -> Chooser:
        own = variant(config, name, split)
        champion = read_search(home, search_key(home, sweep, own))["champion"]

        def choose(asked: Sequence[Case]) -> Sequence[Selection]:
            seen = asked if own.metadata else [blind[case.question_id] for case in asked]
            return run_champion(champion, seen, letters)

        return choose

    return learn


def _summary(sweep: Sweep, config: SelectorConfig, result: AblationResult, splits: int) -> dict[str, Any]:
    return {
        "dataset": sweep.dataset,
        "metric": sweep.metric,
        "answerer": sweep.settings.answerer if sweep.needs_answers else "none",
        "proposer": config.proposer,
        "lambda": config.cost,
        "splits": splits,
        "rows": [asdict(row) for row in result.rows],
        "differences": [asdict(difference) for difference in result.differences],
    }


def _page(sweep: Sweep, config: SelectorConfig, result: AblationResult, splits: int) -> AblationPage:
    return AblationPage(
        title=f"{sweep.dataset}: ways to select what to read",
        **sweep_facts(sweep, config.structures, config.cost),
        splits=splits,
        proposer=config.proposer,
        rows=result.rows,
        differences=result.differences,
    )


def _log(home: Home, sweep: Sweep, summary: Mapping[str, Any], pages: Mapping[str, str]) -> str:
    parent = RunRecord(
        name=f"ablation {sweep.metric}",
        params={name: summary[name] for name in ("metric", "answerer", "proposer", "lambda", "splits")},
        texts={**pages, "ablation.json": canonical_json(summary)},
    )
    names = ("score", "objective", "evidence_tokens", "structures")
    children = [RunRecord(row["name"], metrics={name: float(row[name]) for name in names}) for row in summary["rows"]]
    return log_runs(home, sweep.dataset, "ablation", parent, children)
