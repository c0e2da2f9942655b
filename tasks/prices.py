"""What tokens cost in money: a table in the settings, since prices change and differ between users.

prices: {"openai:gpt-4o-mini": {prompt: 0.15, cached: 0.075, completion: 0.6}}   # per million tokens
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from storage.ledger import Spent

PER = 1_000_000


@dataclass(frozen=True)
class Price:
    """Money per million tokens, in whatever currency the table is; `cached` prompt tokens cost as others by default."""

    prompt: float = 0.0
    completion: float = 0.0
    cached: float | None = None


Prices = Mapping[str, Price]
"""By the name of a model, with its backend, as the ledger shows it."""


def cost(prices: Prices, spent: Spent) -> float | None:
    """What some calls cost; None when the table has no price for the model."""
    price = prices.get(spent.model)
    if price is None:
        return None
    cached = price.prompt if price.cached is None else price.cached
    fresh = spent.prompt_tokens - spent.cached_tokens
    return (fresh * price.prompt + spent.cached_tokens * cached + spent.completion_tokens * price.completion) / PER
