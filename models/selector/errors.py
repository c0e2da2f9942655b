"""What the current policy keeps getting wrong on validation, in words that a proposer may read (MESA, section 4.2).

A line speaks of a group of questions by structure, domain, capability and facts of the evidence previews, and of scores only
in sum. No question, answer, id or evidence text enters it, so no gold can:

    SOFTWARE/causal: 14 of 30 questions fail with S+T; S+R succeeds on 9 of them; G found nothing for 8 of the 14
    WEB/recall: S+T+G+V+R reads 18,700 tokens for 0.71; S+T reads 8,400 for 0.70 (52 questions)

Lines are ordered by what repairing them is worth: the objective to gain, summed over the group's questions. An outcome that
is an error is no failure of the policy and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.selector.contract import OutcomeTable
from models.selector.lookups import Cell, best_of, domain_and_capability, letters_of, objectives


@dataclass(frozen=True, slots=True)
class ErrorConfig:
    """`limit` lines at most. A question fails below the score `success`; an error recurs from `recurring` questions on.

    A fact of the previews is told when it holds for at least this `share` of the failing questions.
    """

    limit: int = 6
    success: float = 0.5
    recurring: int = 2
    share: float = 0.5


@dataclass(frozen=True)
class _Group:
    """Questions of one cell for which the policy chose one subset."""

    cell: Cell
    subset: str
    rows: NDArray[np.int64]

    @property
    def label(self) -> str:
        return "/".join(name for name in self.cell if name) or "all questions"


@dataclass(frozen=True)
class _Line:
    gain: float
    text: str


def recurring_errors(
    selections: Sequence[str], table: OutcomeTable, cost: float, config: ErrorConfig | None = None
) -> tuple[str, ...]:
    """The costliest recurring errors of a policy that chose `selections` for the cases of `table`, worst first."""
    settings = config or ErrorConfig()
    lines = []
    for group in _groups(selections, table):
        lines += [_failures(group, table, cost, settings), _waste(group, table, cost, settings)]
    found = sorted((line for line in lines if line is not None), key=lambda line: (-line.gain, line.text))
    return tuple(line.text for line in found[: settings.limit])


def worst_cell(selections: Sequence[str], table: OutcomeTable, cost: float) -> Cell | None:
    """The (domain, capability) in which one fixed subset instead of the policy's choices would gain most in sum.

    Compared with a fixed subset, not with each question's best: the latter is mostly noise. None without any outcome.
    """
    chosen = _chosen(objectives(table, cost), selections, table)
    gains: dict[Cell, float] = {}
    for cell, rows in _cells(table).items():
        best = best_of(table, cost, rows)
        known = chosen[rows][np.isfinite(chosen[rows])]
        if best is not None and known.size:
            gains[cell] = known.size * (best.objective - float(known.mean()))
    return max(gains, key=lambda cell: (gains[cell], cell)) if gains else None


def _groups(selections: Sequence[str], table: OutcomeTable) -> list[_Group]:
    """Every cell and chosen subset with its rows whose outcome is no error, by name."""
    known = np.isfinite(_chosen(table.scores, selections, table))
    members: dict[tuple[Cell, str], list[int]] = {}
    for row, (case, subset) in enumerate(zip(table.cases, selections, strict=True)):
        if known[row]:
            members.setdefault((domain_and_capability(case), subset), []).append(row)
    return [_Group(cell, subset, np.array(members[cell, subset])) for cell, subset in sorted(members)]


def _failures(group: _Group, table: OutcomeTable, cost: float, config: ErrorConfig) -> _Line | None:
    """Questions that fail although one other subset succeeds on several of them."""
    column = table.subsets.index(group.subset)
    failing = group.rows[table.scores[group.rows, column] < config.success]
    others = [subset for subset in table.subsets if subset != group.subset]
    best = best_of(table, cost, failing.tolist(), subsets=others) if len(failing) and others else None
    if best is None:
        return None
    rescued = failing[table.scores[failing, table.subsets.index(best.subset)] >= config.success]
    if len(rescued) < config.recurring:
        return None
    gain = best.n * (best.objective - float(objectives(table, cost)[failing, column].mean()))
    text = (
        f"{group.label}: {len(failing)} of {len(group.rows)} questions fail with {group.subset}; "
        f"{best.subset} succeeds on {len(rescued)} of them"
    )
    return _Line(gain, "; ".join([text, *_facts(failing, table, config)]))


def _waste(group: _Group, table: OutcomeTable, cost: float, config: ErrorConfig) -> _Line | None:
    """A cheaper fixed subset has the higher objective in this group."""
    column = table.subsets.index(group.subset)
    score, tokens = float(table.scores[group.rows, column].mean()), float(table.tokens[group.rows, column].mean())
    best = best_of(table, cost, group.rows.tolist())
    if best is None or len(group.rows) < config.recurring or best.tokens >= tokens:
        return None
    gain = len(group.rows) * (best.objective - (score - cost * tokens))
    if gain <= 0:
        return None
    text = (
        f"{group.label}: {group.subset} reads {tokens:,.0f} tokens for {score:.2f}; "
        f"{best.subset} reads {best.tokens:,.0f} for {best.score:.2f} ({len(group.rows)} questions)"
    )
    return _Line(gain, text)


def _facts(rows: NDArray[np.int64], table: OutcomeTable, config: ErrorConfig) -> list[str]:
    """What the previews of most failing questions have in common: a structure that found or localised nothing."""
    enough = max(config.recurring, config.share * len(rows))
    facts = []
    for letter in letters_of(table):
        previews = [_preview(table.cases[row].context, letter) for row in rows]
        empty = sum(preview.get("items") == 0 for preview in previews)
        if empty >= enough:
            facts.append(f"{letter} found nothing for {empty} of the {len(rows)}")
        lost = sum(preview.get("localised") is False for preview in previews)
        if letter == "T" and lost >= enough:  # only T is asked for the steps that a question names
            facts.append(f"T localised no step for {lost} of the {len(rows)}")
    return facts


def _preview(context: Mapping[str, Any], letter: str) -> Mapping[str, Any]:
    preview: Mapping[str, Any] = context.get("previews", {}).get(letter, {})
    return preview


def _cells(table: OutcomeTable) -> dict[Cell, list[int]]:
    cells: dict[Cell, list[int]] = {}
    for row, case in enumerate(table.cases):
        cells.setdefault(domain_and_capability(case), []).append(row)
    return cells


def _chosen(values: NDArray[np.float64], selections: Sequence[str], table: OutcomeTable) -> NDArray[np.float64]:
    """The value (n,) of each question under its chosen subset."""
    if len(selections) != len(table.cases):
        raise ValueError(f"{len(selections)} selections for {len(table.cases)} questions")
    columns = [table.subsets.index(subset) for subset in selections]
    chosen: NDArray[np.float64] = values[np.arange(len(table.cases)), columns]
    return chosen
