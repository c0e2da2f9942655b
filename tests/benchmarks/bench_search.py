"""The template search on planted outcomes: how near it comes to the planted rule, with and without priors and UCB.

    python -m tests.benchmarks.bench_search [SEEDS [EPISODES [LAMBDA]]]

For each seed (default 10) a table of EPISODES (163, the size of AMA-Bench here) is planted and split 2:2:6. Prints one JSON
line per search as it ends, and a last one with means and sample deviations. `validation` and `test` are the champion's
objective as a share of the rule's own on the same questions, `all` and `lookup` those of reading everything and of the best
fixed lookup by domain and capability on test, `seconds` the search alone.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from models.selector.contract import OutcomeTable
from models.selector.evaluate import evaluate
from models.selector.lookups import fit_lookup, letters_of
from models.selector.planted import planted, rule_objective
from models.selector.sandbox import Selection, select
from models.selector.search import SearchConfig, SearchResult, search
from models.selector.subsets import subset_name
from models.selector.templates import FAMILIES, TemplateProposer
from models.splits import EpisodeInfo, episode_of, make_split, questions_of

VARIANTS: dict[str, dict[str, Any]] = {"mesa": {}, "without_ucb": {"beta": 0.0}, "without_priors": {"use_priors": False}}


def main(seeds: int = 10, episodes: int = 163, cost: float = 1e-6) -> dict[str, Any]:
    """Run every variant on every seed; means and sample deviations by variant."""
    found: dict[str, list[dict[str, float]]] = {variant: [] for variant in VARIANTS}
    for seed in range(seeds):
        train, validation, test = parts(planted(np.random.default_rng(seed), episodes), seed)
        for variant in VARIANTS:
            row = run(variant, train, validation, test, seed, cost)
            found[variant].append(row)
            print(json.dumps({"variant": variant, "seed": seed, **row}), flush=True)
    return {variant: summary(rows) for variant, rows in found.items()}


def parts(table: OutcomeTable, seed: int) -> tuple[OutcomeTable, OutcomeTable, OutcomeTable]:
    """The table split by episode."""
    names = [case.question_id for case in table.cases]
    infos = {episode_of(case.question_id): (case.context["domain"], case.context["task_type"]) for case in table.cases}
    split = make_split([EpisodeInfo(name, *traits, ()) for name, traits in infos.items()], seed)
    train, validation, test = (
        table.part(questions_of(names, episodes)) for episodes in (split.train, split.validation, split.test)
    )
    return train, validation, test


def run(
    variant: str, train: OutcomeTable, validation: OutcomeTable, test: OutcomeTable, seed: int, cost: float
) -> dict[str, float]:
    """One search, and its champion beside the rule and two baselines."""
    config = replace(SearchConfig(cost=cost, seed=seed), **VARIANTS[variant])
    started = time.perf_counter()
    result = search(train, validation, TemplateProposer(FAMILIES), config)
    seconds = time.perf_counter() - started
    best = rule_objective(test, cost)
    lookup = fit_lookup(validation, cost, "domain_capability")
    everything = [Selection(subset_name(letters_of(test)))] * len(test.cases)
    return {
        "validation": round(result.champion.validation.objective / rule_objective(validation, cost), 4),
        "test": round(evaluate(chosen(result, test), test, cost).objective / best, 4),
        "all": round(evaluate(everything, test, cost).objective / best, 4),
        "lookup": round(evaluate([Selection(lookup.select(c)) for c in test.cases], test, cost).objective / best, 4),
        "invalid": sum(candidate.status != "valid" for candidate in result.candidates),
        "directions": len({candidate.proposal.direction for candidate in result.candidates}),
        "seconds": round(seconds, 1),
    }


def chosen(result: SearchResult, table: OutcomeTable) -> list[Selection]:
    """What the champion reads on a table."""
    champion = result.champion
    return select(champion.proposal.source, champion.params, table.cases, letters_of(table))


def summary(rows: Sequence[dict[str, float]]) -> dict[str, list[float]]:
    """Mean and sample deviation of every number."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {
        name: [round(statistics.fmean(values), 4), round(statistics.stdev(values), 4) if len(values) > 1 else 0.0]
        for name, values in columns.items()
    }


if __name__ == "__main__":
    counts = [int(argument) for argument in sys.argv[1:3]]
    print(json.dumps(main(*counts, *(float(argument) for argument in sys.argv[3:4]))))
