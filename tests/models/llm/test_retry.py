"""Waits grow, are spread out, and never undercut the server."""

from __future__ import annotations

import random
import time
from email.utils import formatdate

import pytest

from models.llm.retry import RetryPolicy, retry_after_seconds


@pytest.mark.parametrize(("attempt", "low", "high"), [(0, 0.5, 1), (1, 1, 2), (3, 4, 8), (20, 30, 60), (5_000, 30, 60)])
def test_waits_double_up_to_the_longest(attempt: int, low: float, high: float) -> None:
    rng = random.Random(1)
    assert all(low <= RetryPolicy().delay(attempt, None, rng) <= high for _ in range(50))


def test_waits_are_spread_out() -> None:
    rng = random.Random(1)
    assert len({RetryPolicy().delay(2, None, rng) for _ in range(20)}) == 20


def test_the_servers_wait_is_never_shortened() -> None:
    assert RetryPolicy().delay(0, 90.0, random.Random(1)) == 90.0


@pytest.mark.parametrize(
    ("header", "seconds"), [(None, None), ("3", 3.0), ("0.5", 0.5), ("-4", 0.0), ("soon", None), ("", None), ("nan", 0.0)]
)
def test_the_header_is_read(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header) == seconds


def test_the_header_may_be_a_date() -> None:
    seconds = retry_after_seconds(formatdate(time.time() + 100))
    assert seconds is not None
    assert 90 < seconds <= 101
