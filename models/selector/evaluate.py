"""What a policy learns from, and what its choices are worth (MESA, Algorithm 1 and Eq. 7-8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.selector.contract import Evaluation, OutcomeTable, Params
from models.selector.lookups import letters_of
from models.selector.sandbox import DEFAULT_LIMITS, SandboxLimits, Selection, fit, select
from models.selector.subsets import SEPARATOR

MAX_INVALID = 0.05
"""A candidate that fails on more than this share of a split's questions is rejected."""


def examples(table: OutcomeTable) -> list[dict[str, Any]]:
    """The rows of a training table as `fit` gets them (see `models/selector/contract.py`): no question ids."""
    rows = zip(table.cases, table.scores.tolist(), table.tokens.tolist(), strict=True)
    return [
        {
            "question": case.question,
            "context": dict(case.context),
            "scores": _known(table.subsets, scores),
            "tokens": _known(table.subsets, tokens),
        }
        for case, scores, tokens in rows
    ]


def _known(names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    return {name: value for name, value in zip(names, values, strict=True) if value == value}  # NaN differs from itself


def fit_and_select(
    source: str, train: OutcomeTable, validation: OutcomeTable, limits: SandboxLimits = DEFAULT_LIMITS
) -> tuple[Params, list[Selection]]:
    """Params fitted on train, and a selection per case of another part, of which only questions and contexts are read.

    `PolicyError` when the policy does not compile or fitting fails.
    """
    params = fit(source, examples(train), limits)
    return params, select(source, params, validation.cases, letters_of(validation), limits)


def evaluate(selections: Sequence[Selection], table: OutcomeTable, cost: float) -> Evaluation:
    """Score, tokens and objective of what was chosen for each case of the table; `cost` is lambda, per evidence token.

    Outcomes that are errors are in no mean; when all are, `n` is 0 and the means are NaN. ValueError for a number of
    selections that is not the table's, or a subset without outcomes.
    """
    columns = _columns(selections, table)
    rows = np.arange(len(columns))
    scores, tokens = table.scores[rows, columns], table.tokens[rows, columns]
    sizes = np.array([selection.subset.count(SEPARATOR) + 1 for selection in selections], dtype=np.float64)
    ok = ~np.isnan(scores)
    score, mean_tokens = _mean(scores[ok]), _mean(tokens[ok])
    return Evaluation(
        score=score,
        tokens=mean_tokens,
        objective=score - cost * mean_tokens,
        n_structures=_mean(sizes[ok]),
        n=int(ok.sum()),
        invalid=sum(not selection.valid for selection in selections),
        errors=int((~ok).sum()),
    )


def _columns(selections: Sequence[Selection], table: OutcomeTable) -> NDArray[np.intp]:
    """The column of each selection's subset."""
    if len(selections) != len(table.cases):
        raise ValueError(f"{len(selections)} selections for {len(table.cases)} questions")
    column = {subset: i for i, subset in enumerate(table.subsets)}
    if missing := sorted({selection.subset for selection in selections} - column.keys()):
        raise ValueError(f"no outcomes of subset {', '.join(missing)}: sweep it, or choose from {', '.join(table.subsets)}")
    return np.array([column[selection.subset] for selection in selections], dtype=np.intp)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
