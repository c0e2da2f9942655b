"""What a finished sweep says about its subsets, and which structures a selector reads (MESA, section 3.2, Fig. 2).

`analyse` describes the outcomes that it is computed from: nothing in it is a held-out result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.selector.contract import Case, OutcomeTable
from models.selector.lookups import (
    ANY,
    KINDS,
    Best,
    Cell,
    Kind,
    SizeShares,
    best_by,
    best_of,
    domain_and_capability,
    fit_lookup,
    oracle,
    shares_of_groups,
    shares_of_questions,
)
from models.selector.subsets import SEPARATOR


@dataclass(frozen=True, slots=True)
class Group:
    """The questions of one cell (`ANY` where it is not looked at) under every subset.

    `best` has the highest objective, `top` the highest score; `scores` are means in [0, 1], absent where all are errors.
    """

    cell: Cell
    n: int
    best: Best
    top: Best
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class StructureUse:
    """The share of `n` questions of a cell whose selection reads each structure, by letter."""

    cell: Cell
    n: int
    shares: Mapping[str, float]

    @property
    def n_structures(self) -> float:
        """Mean structures per question."""
        return sum(self.shares.values())


@dataclass(frozen=True, slots=True)
class SweepAnalysis:
    """`subsets` over all questions in the order of the table; `groups` by what they look at, sorted by name.

    `sizes` are those of the best subsets of `categories` (domains and capabilities) and of single `questions`; `oracle` is
    (score, evidence tokens) of the best subset of each question, None without an outcome; `use` that of the best subset of
    each cell.
    """

    subsets: tuple[Best, ...]
    groups: Mapping[Kind, tuple[Group, ...]]
    sizes: Mapping[str, SizeShares]
    oracle: tuple[float, float] | None
    use: tuple[StructureUse, ...]


def analyse(table: OutcomeTable, cost: float) -> SweepAnalysis:
    """Analyse the outcomes of a sweep under `cost` per token; a table without questions says nothing."""
    if not table.cases:
        return SweepAnalysis((), dict.fromkeys(KINDS, ()), {}, None, ())
    everything = range(len(table.cases))
    subsets = [best_of(table, cost, everything, subsets=[subset]) for subset in table.subsets]
    groups = {kind: tuple(_group(table, best) for best in best_by(table, cost, kind)) for kind in KINDS}
    categories = [group.best for kind in ("domain", "capability") for group in groups[kind]]
    lookup = fit_lookup(table, cost, "domain_capability")
    choice = oracle(table, cost)
    return SweepAnalysis(
        subsets=tuple(best for best in subsets if best is not None),
        groups=groups,
        sizes={"categories": shares_of_groups(categories, table), "questions": shares_of_questions(table, cost)},
        oracle=_means(table, choice),
        use=structure_use(table.cases, [lookup.select(case) for case in table.cases]),
    )


def structure_use(cases: Sequence[Case], chosen: Sequence[str]) -> tuple[StructureUse, ...]:
    """How often the subsets chosen for some cases read each structure: cells by name, then all questions."""
    subsets: dict[Cell, list[str]] = {}
    for case, subset in zip(cases, chosen, strict=True):
        subsets.setdefault(domain_and_capability(case), []).append(subset)
    cells = [_use(cell, subsets[cell]) for cell in sorted(subsets)]
    return (*cells, _use((ANY, ANY), chosen)) if len(cells) > 1 else tuple(cells)


def _use(cell: Cell, chosen: Sequence[str]) -> StructureUse:
    read = [subset.split(SEPARATOR) for subset in chosen]
    letters = {letter for subset in read for letter in subset}
    shares = {letter: sum(letter in subset for subset in read) / len(read) for letter in sorted(letters)}
    return StructureUse(cell, len(read), shares)


def _group(table: OutcomeTable, best: Best) -> Group:
    rows = [i for i, case in enumerate(table.cases) if _is_in(domain_and_capability(case), best.cell)]
    alone = {subset: best_of(table, 0.0, rows, best.cell, [subset]) for subset in table.subsets}
    top = best_of(table, 0.0, rows, best.cell) or best
    return Group(best.cell, len(rows), best, top, {name: found.score for name, found in alone.items() if found is not None})


def _is_in(own: Cell, cell: Cell) -> bool:
    return all(wanted in (ANY, value) for value, wanted in zip(own, cell, strict=True))


def _means(table: OutcomeTable, choice: Sequence[str]) -> tuple[float, float]:
    """Mean score and tokens of one subset per question, over the outcomes that are no error."""
    at = np.arange(len(choice)), np.array([table.subsets.index(subset) for subset in choice])
    known = np.isfinite(table.scores[at])
    return float(table.scores[at][known].mean()), float(table.tokens[at][known].mean())
