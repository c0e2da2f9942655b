"""A hard stop on tokens: `--max-tokens`. Counted in the process that runs the tasks, so it holds for the thread runner.

What was paid before the stop is in the journal, so the same command with a larger budget goes on where this one stopped.
"""

from __future__ import annotations

import threading
import uuid


class BudgetSpentError(RuntimeError):
    """The token budget is used up. What was paid for is kept; the same command with a larger budget goes on."""


class Budget:
    """At most `max_tokens` tokens, or any number when it is None. Safe to use from threads."""

    def __init__(self, max_tokens: int | None = None):
        self.max_tokens = max_tokens
        self.spent = 0
        self._lock = threading.Lock()

    def check(self, expected: int) -> None:
        """Raise `BudgetSpentError` when `expected` more tokens do not fit."""
        with self._lock:
            if self.max_tokens is not None and self.spent + expected > self.max_tokens:
                raise BudgetSpentError(
                    f"{self.spent:,} tokens are spent; the next {expected:,} would pass --max-tokens {self.max_tokens:,}. "
                    "Finished answers are kept: run the same command with a larger budget to go on"
                )

    def spend(self, tokens: int) -> None:
        """Count tokens that were paid for."""
        with self._lock:
            self.spent += tokens


_BUDGETS: dict[str, Budget] = {}


def open_budget(max_tokens: int | None) -> str:
    """Register a budget for one run; the id is what tasks get, since they take no live objects."""
    budget_id = uuid.uuid4().hex
    _BUDGETS[budget_id] = Budget(max_tokens)
    return budget_id


def budget(budget_id: str) -> Budget:
    """The budget of a run; an unlimited one in a process that does not know the id."""
    return _BUDGETS.setdefault(budget_id, Budget())
