"""Budgets in tokens and in money, and what they count."""

from __future__ import annotations

import pytest

from storage.ledger import Spent
from tasks.budget import Budget, BudgetSpentError
from tasks.prices import Price, cost
from tasks.settings import SettingsError, check_settings

CALL = Spent("answer", "openai:m", 1, 0, prompt_tokens=1_000, cached_tokens=400, completion_tokens=100)
PRICES = {"openai:m": Price(prompt=1.0, completion=10.0, cached=0.5)}


def test_a_call_costs_its_fresh_cached_and_completion_tokens() -> None:
    assert cost(PRICES, CALL) == pytest.approx((600 * 1.0 + 400 * 0.5 + 100 * 10.0) / 1e6)
    assert cost({"openai:m": Price(1.0, 10.0)}, CALL) == pytest.approx((1_000 * 1.0 + 100 * 10.0) / 1e6)
    assert cost({}, CALL) is None


def test_a_budget_in_tokens_stops_before_the_call_that_passes_it() -> None:
    budget = Budget(max_tokens=2_000)
    budget.check(CALL)
    budget.spend(CALL)
    with pytest.raises(BudgetSpentError, match="1,100 tokens are spent; the next 1,100 would pass --max-tokens 2,000"):
        budget.check(CALL)


def test_a_budget_in_money_stops_before_the_call_that_passes_it() -> None:
    budget = Budget(max_cost=0.003, prices=PRICES)
    budget.check(CALL)
    budget.spend(CALL)
    with pytest.raises(BudgetSpentError, match=r"--max-cost 0\.003"):
        budget.check(CALL)


def test_a_budget_in_money_needs_a_price() -> None:
    with pytest.raises(SettingsError, match="the price of openai:m"):
        Budget(max_cost=1.0).check(CALL)


def test_prices_come_from_the_settings() -> None:
    settings = check_settings({"prices": {"openai:m": {"prompt": 1, "completion": 10, "cached": 0.5}}}, "settings.yaml")
    assert settings.prices == PRICES
