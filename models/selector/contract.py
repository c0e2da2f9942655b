"""The words of selector learning: what a policy sees, what it is scored on, and what a search keeps (MESA, section 4).

A policy is Python source with two functions, run only in the sandbox (`models/selector/sandbox.py`):

    def fit(examples):                       # train split only; returns JSON-like params
        ...
    def select(question, context, params):   # returns a list of structure letters, such as ["T", "V"]
        ...

An example is {"question", "context", "scores", "tokens"}: the last two map every subset (`S+T`) to its score in [0, 1]
(absent where the outcome is an error) and its evidence tokens. A context has no gold, verdict or outcome:

    {"task": "...", "task_type": "alfworld", "domain": "EMBODIED_AI", "capability": "recall", "n_steps": 60,
     "structures": ["S", "T", "G", "V", "R"],
     "previews": {"T": {"n_tokens": 310, "items": 1, "top_scores": [1.0], "steps": [12], "localised": true,
                        "head": "Step 12: ..."}}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Context = Mapping[str, Any]
Params = Any
Role = Literal["seed", "exploit", "explore", "repair"]


@dataclass(frozen=True, slots=True)
class Case:
    """One question as a policy sees it."""

    question_id: str
    question: str
    context: Context


@dataclass(frozen=True)
class OutcomeTable:
    """Outcomes of n cases under m subsets, whose names are in the order of the columns.

    `scores` (n, m) is NaN where the outcome is an error; `tokens` (n, m) are evidence tokens.
    """

    cases: tuple[Case, ...]
    subsets: tuple[str, ...]
    scores: NDArray[np.float64]
    tokens: NDArray[np.float64]

    def __post_init__(self) -> None:
        shape = (len(self.cases), len(self.subsets))
        if self.scores.shape != shape or self.tokens.shape != shape:
            raise ValueError(
                f"outcomes of {shape} cases and subsets, but scores {self.scores.shape}, tokens {self.tokens.shape}"
            )

    def part(self, question_ids: Sequence[str]) -> OutcomeTable:
        """The rows of some questions, in the order given. `KeyError` for an unknown one."""
        rows = {case.question_id: i for i, case in enumerate(self.cases)}
        index = [rows[question] for question in question_ids]
        return OutcomeTable(tuple(self.cases[i] for i in index), self.subsets, self.scores[index], self.tokens[index])


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A policy on a split: J, C and J - lambda * C (MESA, Eq. 7 and 8), over the questions whose outcome is no error.

    `n_structures` is the mean subset size; `invalid` counts questions on which the policy failed and read all structures;
    `errors` counts outcomes that are errors, which are in no mean.
    """

    score: float
    tokens: float
    objective: float
    n_structures: float
    n: int
    invalid: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class Proposal:
    """A policy's source and where it came from. `parent` is the id of the archive entry it was made from, or ""."""

    source: str
    direction: str
    role: Role
    parent: str = ""
    note: str = ""


@dataclass(frozen=True)
class Entry:
    """A fitted and evaluated policy of the archive. `selections` are the subsets it chose on validation."""

    id: str
    proposal: Proposal
    params: Params
    validation: Evaluation
    selections: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArmStats:
    """One prior direction as UCB sees it: candidates evaluated, their mean validation objective, the bound (Eq. 9)."""

    direction: str
    n: int
    mean: float
    ucb: float
