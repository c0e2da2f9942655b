"""When a failed call is tried again, and how long to wait before."""

from __future__ import annotations

import email.utils
import random
import time
from dataclasses import dataclass

from models.llm.chat import Completion


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with full jitter below, so that many clients do not come back at the same moment.

    Attempt n (from 0) waits between half and all of `first_s * 2**n`, at most `longest_s`. A server's own `Retry-After` is
    kept to, never shortened.
    """

    attempts: int = 6
    first_s: float = 1.0
    longest_s: float = 60.0

    def delay(self, attempt: int, retry_after_s: float | None, rng: random.Random) -> float:
        """Seconds to wait after attempt number `attempt` failed."""
        ceiling = min(self.longest_s, self.first_s * 2.0 ** min(attempt, 60))
        return max(rng.uniform(ceiling / 2, ceiling), retry_after_s or 0.0)


_NOTHING = Completion("")


@dataclass(frozen=True, slots=True)
class Transient:
    """A failure that may pass. `spent` is the completion that was paid for all the same, `attempts` limits the tries."""

    reason: str
    retry_after_s: float | None = None
    spent: Completion = _NOTHING
    attempts: int = 1_000


def retry_after_seconds(header: str | None) -> float | None:
    """Seconds in a `Retry-After` header, which holds a number or an HTTP date; None where it holds neither."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        when = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, when.timestamp() - time.time())
