"""Selectors that need no search: fixed lookups, route-to-one and the per-question oracle, and what a sweep shows (MESA,
sections 3.2 and 5.3, Appendix F.4).

A lookup is a table from a cell (domain, capability, both or neither) to a subset, chosen by the objective on validation and
then frozen. The oracle reads the outcomes of the questions it is scored on: it is a ceiling, never a selector.

"Best" always means: highest mean of score - cost * tokens over the outcomes that are no error; of equals the one with fewer
tokens, then the first in the order of the subsets. With `cost` 0 that is the best score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from models.selector.contract import Case, OutcomeTable
from models.selector.subsets import ORDER, SEPARATOR

Kind = Literal["global", "domain", "capability", "domain_capability"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Cell = tuple[str, str]
"""Domain and capability; `ANY` where a lookup does not look at one of them, "" where the context does not tell."""

ANY = "*"
_TIE = 1e-12

_CHAIN: Mapping[Kind, tuple[tuple[bool, bool], ...]] = {
    "global": ((False, False),),
    "domain": ((True, False), (False, False)),
    "capability": ((False, True), (False, False)),
    "domain_capability": ((True, True), (True, False), (False, True), (False, False)),
}
"""Whether (domain, capability) are looked at, from fine to coarse: a cell that validation has not is looked up coarser."""


@dataclass(frozen=True)
class Lookup:
    """The subset of every cell, coarser cells included, so that each question finds one."""

    kind: Kind
    cells: Mapping[Cell, str]

    def select(self, case: Case) -> str:
        return next(self.cells[cell] for cell in _cells(case, self.kind) if cell in self.cells)


@dataclass(frozen=True, slots=True)
class Best:
    """The best subset of one group of questions; `n` counts its questions with an outcome for that subset."""

    cell: Cell
    subset: str
    score: float
    tokens: float
    objective: float
    n: int


@dataclass(frozen=True, slots=True)
class SizeShares:
    """How many of `n` best subsets are one structure, several but not all, or all. `undecided` are not in `n`."""

    single: int
    intermediate: int
    full: int
    undecided: int = 0

    @property
    def n(self) -> int:
        return self.single + self.intermediate + self.full


def letters_of(table: OutcomeTable) -> tuple[str, ...]:
    """The structures whose subsets were swept, in the fixed order."""
    swept = {letter for subset in table.subsets for letter in subset.split(SEPARATOR)}
    return tuple(letter for letter in ORDER if letter in swept)


def singles(table: OutcomeTable) -> tuple[str, ...]:
    """The subsets of one structure."""
    return tuple(subset for subset in table.subsets if SEPARATOR not in subset)


def domain_and_capability(case: Case) -> Cell:
    """The cell of a question, "" for what its context does not tell."""
    return str(case.context.get("domain") or ""), str(case.context.get("capability") or "")


def objectives(table: OutcomeTable, cost: float) -> NDArray[np.float64]:
    """score - cost * tokens of every question and subset, (n, m); NaN where the outcome is an error."""
    return table.scores - cost * table.tokens


def joined(tables: Sequence[OutcomeTable]) -> OutcomeTable:
    """The questions of several tables under the same subsets. ValueError where the subsets differ."""
    if len({table.subsets for table in tables}) != 1:
        raise ValueError("outcome tables of different subsets cannot be joined: sweep the same structures for all parts")
    return OutcomeTable(
        tuple(case for table in tables for case in table.cases),
        tables[0].subsets,
        np.concatenate([table.scores for table in tables]),
        np.concatenate([table.tokens for table in tables]),
    )


def best_of(
    table: OutcomeTable, cost: float, rows: Sequence[int], cell: Cell = (ANY, ANY), subsets: Sequence[str] | None = None
) -> Best | None:
    """The best fixed subset for some rows of a table; None when all their outcomes are errors."""
    columns = [table.subsets.index(subset) for subset in (table.subsets if subsets is None else subsets)]
    scores, tokens = table.scores[np.ix_(rows, columns)], table.tokens[np.ix_(rows, columns)]
    known = np.isfinite(scores)
    n = known.sum(axis=0)
    score = np.where(known, scores, 0).sum(axis=0) / np.maximum(n, 1)
    spent = np.where(known, tokens, 0).sum(axis=0) / np.maximum(n, 1)
    value = np.where(n > 0, score - cost * spent, -np.inf)
    if not n.any():
        return None
    i = int(np.where(value >= value.max() - _TIE, spent, np.inf).argmin())
    return Best(cell, table.subsets[columns[i]], float(score[i]), float(spent[i]), float(value[i]), int(n[i]))


def fit_lookup(table: OutcomeTable, cost: float, kind: Kind, subsets: Sequence[str] | None = None) -> Lookup:
    """Choose the best of `subsets` (all by default) for every cell of `table`, which is validation.

    A cell in which every outcome is an error is left to a coarser one. ValueError when no outcome at all is without error.
    """
    cells = {best.cell: best.subset for looks in _CHAIN[kind] for best in _best(table, cost, looks, subsets)}
    if (ANY, ANY) not in cells:
        raise ValueError("a lookup needs outcomes without error to choose from; repair or resume the sweep")
    return Lookup(kind, cells)


def route_to_one(train: OutcomeTable, validation: OutcomeTable, cost: float) -> Lookup:
    """The best single structure for each domain and capability (MESA, Table 3).

    The paper names the ablation without its recipe. Nothing is searched here, so nothing has to be kept for acceptance: it
    is chosen on train and validation together, which favours it.
    """
    return fit_lookup(joined([train, validation]), cost, "domain_capability", singles(train))


def oracle(table: OutcomeTable, cost: float) -> tuple[str, ...]:
    """The best subset of each question by its own outcomes; all structures where every outcome is an error."""
    values = objectives(table, cost)
    known = np.isfinite(values)
    top = np.where(known, values, -np.inf).max(axis=1, keepdims=True)
    cheapest = np.where(known & (values >= top - _TIE), table.tokens, np.inf).argmin(axis=1)
    full = max(table.subsets, key=len)
    some_known = known.sum(axis=1) > 0
    return tuple(table.subsets[column] if some else full for column, some in zip(cheapest.tolist(), some_known, strict=True))


def best_by(table: OutcomeTable, cost: float, kind: Kind) -> tuple[Best, ...]:
    """The best subset of each group of questions (Fig. 2), groups sorted by name."""
    return tuple(_best(table, cost, _CHAIN[kind][0]))


def shares_of_groups(groups: Iterable[Best], table: OutcomeTable) -> SizeShares:
    """Over categories: whose best subset is a single structure, all structures, or in between."""
    return _shares((best.subset for best in groups), len(letters_of(table)))


def shares_of_questions(table: OutcomeTable, cost: float) -> SizeShares:
    """Over questions, by the oracle. A question that no subset answers above 0 prefers none: it is `undecided`."""
    solved = np.where(np.isfinite(table.scores), table.scores, 0).max(axis=1) > 0
    chosen = (subset for subset, some in zip(oracle(table, cost), solved, strict=True) if some)
    return _shares(chosen, len(letters_of(table)), int((~solved).sum()))


def _shares(subsets: Iterable[str], k: int, undecided: int = 0) -> SizeShares:
    sizes = [subset.count(SEPARATOR) + 1 for subset in subsets]
    single = sum(size == 1 for size in sizes)
    full = sum(size == k > 1 for size in sizes)
    return SizeShares(single, len(sizes) - single - full, full, undecided)


def _cells(case: Case, kind: Kind) -> list[Cell]:
    domain, capability = domain_and_capability(case)
    return [(domain if d else ANY, capability if c else ANY) for d, c in _CHAIN[kind]]


def _best(table: OutcomeTable, cost: float, looks: tuple[bool, bool], subsets: Sequence[str] | None = None) -> list[Best]:
    groups: dict[Cell, list[int]] = {}
    for row, case in enumerate(table.cases):
        domain, capability = domain_and_capability(case)
        groups.setdefault((domain if looks[0] else ANY, capability if looks[1] else ANY), []).append(row)
    found = (best_of(table, cost, groups[cell], cell, subsets) for cell in sorted(groups))
    return [best for best in found if best is not None]
