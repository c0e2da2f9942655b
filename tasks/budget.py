"""Hard stops: `--max-tokens` and `--max-cost`. Counted in the process that runs the tasks: they hold for the thread runner.

What was paid before the stop is in the journal, so the same command with a larger budget goes on where this one stopped.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping

from storage.ledger import Spent
from tasks.prices import Price, Prices, cost
from tasks.settings import SettingsError


class BudgetSpentError(RuntimeError):
    """The budget is used up. What was paid for is kept; the same command with a larger budget goes on."""


class Budget:
    """At most `max_tokens` tokens and `max_cost` money, or any amount where they are None. Safe to use from threads."""

    def __init__(self, max_tokens: int | None = None, max_cost: float | None = None, prices: Prices | None = None):
        self.max_tokens, self.max_cost = max_tokens, max_cost
        self.prices: Mapping[str, Price] = prices or {}
        self.tokens, self.cost = 0, 0.0
        self._lock = threading.Lock()

    def check(self, expected: Spent) -> None:
        """Raise `BudgetSpentError` when calls that are about to be made do not fit, `SettingsError` without their price."""
        money = self._cost(expected)
        with self._lock:
            if self.max_tokens is not None and self.tokens + expected.tokens > self.max_tokens:
                raise _stop(f"{self.tokens:,} tokens", f"{expected.tokens:,}", f"--max-tokens {self.max_tokens:,}")
            if self.max_cost is not None and self.cost + money > self.max_cost:
                raise _stop(f"{self.cost:.4f}", f"{money:.4f}", f"--max-cost {self.max_cost:g}")

    def spend(self, spent: Spent) -> None:
        """Count calls that were paid for."""
        money = self._cost(spent)
        with self._lock:
            self.tokens += spent.tokens
            self.cost += money

    def _cost(self, spent: Spent) -> float:
        if self.max_cost is None:
            return 0.0
        money = cost(self.prices, spent)
        if money is None:
            raise SettingsError(f"--max-cost needs the price of {spent.model}: put it under `prices` in the settings file")
        return money


def _stop(spent: str, expected: str, limit: str) -> BudgetSpentError:
    return BudgetSpentError(
        f"{spent} are spent; the next {expected} would pass {limit}. "
        "Finished answers are kept: run the same command with a larger budget to go on"
    )


_BUDGETS: dict[str, Budget] = {}


def open_budget(max_tokens: int | None = None, max_cost: float | None = None, prices: Prices | None = None) -> str:
    """Register a budget for one run. Tasks take its id, since they take no live objects; the ledger names runs by it."""
    budget_id = uuid.uuid4().hex
    _BUDGETS[budget_id] = Budget(max_tokens, max_cost, prices)
    return budget_id


def budget(budget_id: str) -> Budget:
    """The budget of a run; an unlimited one in a process that does not know the id."""
    return _BUDGETS.setdefault(budget_id, Budget())
