"""Small pages of a sweep, a search and an ablation with invented numbers and, if wanted, hostile names."""

from __future__ import annotations

from typing import Any

import numpy as np

from models.aggregate import Difference
from models.prefix_cache import PrefixReuse
from models.report.learning import AblationPage, FoundPolicy, PartResult, SearchPage, SweepPage, Trial
from models.selector.ablation import AblationRow, PairedDifference
from models.selector.analysis import analyse, structure_use
from models.selector.contract import ArmStats, Case, Evaluation, OutcomeTable
from models.selector.subsets import SEPARATOR, all_subsets

COST = 1e-5
STRUCTURES = {"S": "summary", "T": "temporal", "V": "vector"}
SUBSETS = tuple(all_subsets(list(STRUCTURES)))
DOMAINS = ("WEB", "Game", "SOFTWARE")
CAPABILITIES = ("recall", "causal", "state_update")
WORTH = {"S": 0.2, "T": 0.3, "V": 0.1}
PRICE = {"S": 5_000.0, "T": 700.0, "V": 900.0}

SOURCE = '''"""Reads T."""


def select(question, context, params):
    if params:
        return ["S"]
    return ["T"]
'''


def cases(domains: tuple[str, ...] = DOMAINS, capabilities: tuple[str, ...] = CAPABILITIES) -> tuple[Case, ...]:
    """Two questions of each cell."""
    cells = [(domain, capability) for domain in domains for capability in capabilities]
    return tuple(
        Case(f"d/{cell}/{index}", "?", {"domain": domain, "capability": capability})
        for cell, (domain, capability) in enumerate(cells)
        for index in range(2)
    )


def outcomes(asked: tuple[Case, ...]) -> OutcomeTable:
    """Every structure adds its worth; `V` is worth most in the first domain."""
    first = asked[0].context["domain"] if asked else ""

    def score(case: Case, subset: str) -> float:
        worth = {**WORTH, "V": 0.5} if case.context["domain"] == first else WORTH
        return sum(worth[letter] for letter in subset.split(SEPARATOR))

    scores = [[score(case, subset) for subset in SUBSETS] for case in asked]
    tokens = [[sum(PRICE[letter] for letter in subset.split(SEPARATOR)) for subset in SUBSETS] for _ in asked]
    shape = (len(asked), len(SUBSETS))
    return OutcomeTable(asked, SUBSETS, np.array(scores).reshape(shape), np.array(tokens).reshape(shape))


def _said(**more: Any) -> dict[str, Any]:
    common = {
        "title": "A page",
        "dataset": "ama-bench",
        "metric": "judge",
        "answerer": "model-a",
        "judge": "model-b",
        "cost": COST,
        "structures": STRUCTURES,
        "command": "strata sweep",
        "versions": {"strata": "0.1.0"},
    }
    return {**common, **more}


def method(name: str, score: float, tokens: float) -> AblationRow:
    return AblationRow(name, score, 0.01, tokens, 2.0, score - COST * tokens, 0.011, 90, 3, 0, 5)


def sweep(asked: tuple[Case, ...] | None = None, **more: Any) -> SweepPage:
    table = outcomes(cases() if asked is None else asked)
    fields: dict[str, Any] = {
        "questions": len(table.cases),
        "outcomes": len(table.cases) * len(SUBSETS),
        "errors": 1,
        "parse_errors": 2,
        "analysis": analyse(table, COST),
        "reuse": {"paper": PrefixReuse(1_000, 600), "prefix": PrefixReuse(1_000, 250)},
        "held_out": (method("all", 0.6, 6_600), method("lookup_domain", 0.58, 1_600)),
        "splits": 5,
    }
    return SweepPage(**_said(**{**fields, **more}))


def search(**more: Any) -> SearchPage:
    asked = cases()
    chosen = ["T+V" if case.context["domain"] == "WEB" else "T" for case in asked]
    fields: dict[str, Any] = {
        "split": 3,
        "proposer": "templates",
        "search": "searches/ama-bench/v1/x",
        "champion": FoundPolicy("02-explore", "cost_guard", "explore", "a note", SOURCE, '{"edge":3}'),
        "results": (
            PartResult("champion", "test", Evaluation(0.55, 1_000, 0.54, 1.3, 60, 2)),
            PartResult("all", "test", Evaluation(0.6, 6_600, 0.534, 3.0, 60)),
        ),
        "curve": (0.534, 0.534, 0.545),
        "baseline": 0.534,
        "trials": (
            Trial(1, "exploit", "valid", "", 0.52),
            Trial(1, "explore", "invalid", "no function `fit`"),
            Trial(2, "exploit", "duplicate", "the same source as 01-exploit"),
            Trial(2, "explore", "valid", "", 0.545),
            Trial(2, "repair", "valid", "", 0.01),
        ),
        "arms": (ArmStats("cost_guard", 1, 0.545, 0.6), ArmStats("time_words", 2, 0.52, 0.61)),
        "tries": {"cost_guard": 1, "time_words": 4},
        "use": structure_use(asked, chosen),
    }
    return SearchPage(**_said(**{**fields, **more}))


def gap(other: str, low: float, high: float) -> PairedDifference:
    difference = Difference((low + high) / 2, (low, high), 90)
    return PairedDifference("mesa", other, difference, difference, Difference(-900.0, (-1_000.0, -800.0), 90))


def ablation(**more: Any) -> AblationPage:
    fields: dict[str, Any] = {
        "splits": 5,
        "proposer": "templates",
        "rows": (
            method("mesa", 0.59, 1_600),
            method("all", 0.6, 6_600),
            method("without_ucb", 0.588, 1_700),
            method("oracle", 0.7, 900),
        ),
        "differences": (gap("all", 0.01, 0.04), gap("without_ucb", -0.004, 0.006), gap("oracle", -0.2, -0.1)),
    }
    return AblationPage(**_said(**{**fields, **more}))
