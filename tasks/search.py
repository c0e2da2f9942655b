"""Searching a selection policy from the outcomes of a sweep, as a cached task per split; and its champion on the test part.

The search sees train and validation. The test part is made after the champion is frozen, and read once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from models.selector.contract import Case, Evaluation, OutcomeTable
from models.selector.evaluate import evaluate
from models.selector.llm_proposer import LLMProposer
from models.selector.lookups import letters_of
from models.selector.proposer import Proposer
from models.selector.sandbox import Selection, select
from models.selector.search import SearchResult, search
from models.selector.subsets import subset_name
from models.selector.templates import FAMILIES, TemplateProposer
from models.splits import Split, make_split, questions_of
from storage.artifacts import ArtifactError, ArtifactKey, Draft, Home, canonical_json
from tasks.artifact_task import artifact_task
from tasks.budget import open_budget
from tasks.cases import episode_infos
from tasks.meter import metered
from tasks.outcomes import outcome_table
from tasks.readers import Meter, model, unmetered
from tasks.selector_config import TEMPLATES, SelectorConfig
from tasks.settings import Settings
from tasks.sweep import Sweep, plan_sweep

VERSION = 1
RESULT = "search.json"


def finished_sweep(home: Home, dataset: str, config: SelectorConfig, settings: Settings) -> Sweep:
    """The sweep that a search reads. `ArtifactError` says what to run while outcomes are missing."""
    sweep = plan_sweep(home, dataset, config.sweep, settings, retry=False)
    unscored = [key for _, key in sweep.answer_keys() if not home.has(sweep.outcomes_of(key))]
    if sweep.missing or unscored:
        raise ArtifactError(
            f"{sweep.missing:,} outcomes of {dataset} are missing: run `strata sweep --dataset {dataset} --metric "
            f"{config.metric} --structures {','.join(config.structures)}` with the same settings first"
        )
    return sweep


def search_key(home: Home, sweep: Sweep, config: SelectorConfig) -> ArtifactKey:
    """A search depends on its outcomes (wherever they are found, and however many are errors), settings and proposer."""
    outcomes = sorted(sweep.outcomes_of(str(shard.whole)) for shard in sweep.shards)
    inputs = (_proposer(config).name, f"errors:{sweep.errors(home)}", *outcomes)
    return ArtifactKey("searches", sweep.dataset, VERSION, config, inputs)


def split_of(home: Home, sweep: Sweep, number: int) -> Split:
    """The split by episode with this seed."""
    return make_split(episode_infos(home, [shard.shard for shard in sweep.shards]), number)


def part_of(table: OutcomeTable, episodes: Sequence[str]) -> OutcomeTable:
    """The outcomes of some episodes."""
    return table.part(questions_of([case.question_id for case in table.cases], episodes))


@artifact_task
def search_split(home: Home, draft: Draft, dataset: str, config: SelectorConfig, settings: Settings) -> None:
    """Search on one split and write the whole search: champion, archive, candidates, curve and arms."""
    sweep = finished_sweep(home, dataset, config, settings)
    table = outcome_table(home, sweep, config.structures, config.metadata)
    split = split_of(home, sweep, config.split)
    proposer = _proposer(config, partial(metered, home, open_budget()))
    result = search(part_of(table, split.train), part_of(table, split.validation), proposer, config.search)
    (draft.folder / RESULT).write_text(canonical_json(_result_json(result, config, split)), encoding="utf-8")
    if isinstance(proposer, LLMProposer):
        draft.manifest["tokens"] = proposer.usage.prompt_tokens + proposer.usage.completion_tokens


def _proposer(config: SelectorConfig, meter: Meter = unmetered) -> Proposer:
    if config.proposer == TEMPLATES:
        return TemplateProposer(FAMILIES)
    return LLMProposer(meter("propose", model(config.proposer)))


def _result_json(result: SearchResult, config: SelectorConfig, split: Split) -> dict[str, Any]:
    archive = [
        {**asdict(entry.proposal), "id": entry.id, "params": entry.params, "validation": asdict(entry.validation)}
        for entry in result.archive
    ]
    return {
        "config": asdict(config),
        "split": {name: getattr(split, name) for name in ("train", "validation", "test")},
        "uncovered": [asdict(gap) for gap in split.uncovered],
        "champion": next(entry for entry in archive if entry["id"] == result.champion.id),
        "archive": archive,
        "candidates": [asdict(candidate) for candidate in result.candidates],
        "curve": list(result.curve),
        "arms": [asdict(arm) for arm in result.arms],
        "tries": dict(result.tries),
    }


def read_search(home: Home, key: ArtifactKey | str) -> dict[str, Any]:
    """A finished search as it was written."""
    found: dict[str, Any] = json.loads(home.fs.cat_file(f"{home.require(key)}/{RESULT}"))
    return found


def run_champion(champion: Mapping[str, Any], cases: Sequence[Case], letters: Sequence[str]) -> list[Selection]:
    """What a frozen policy selects for some cases."""
    return select(champion["source"], champion["params"], cases, letters)


def score_on_test(home: Home, sweep: Sweep, config: SelectorConfig, found: Mapping[str, Any]) -> dict[str, Evaluation]:
    """The champion and, beside it, all structures on the test part of the search's split."""
    table = part_of(outcome_table(home, sweep, config.structures, config.metadata), found["split"]["test"])
    letters = letters_of(table)
    everything = [Selection(subset_name(letters))] * len(table.cases)
    chosen = run_champion(found["champion"], table.cases, letters)
    return {name: evaluate(s, table, config.cost) for name, s in (("champion", chosen), ("all", everything))}
