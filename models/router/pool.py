"""The events that are ranked for a question: all, or those with the best plain scores where there are too many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from storage.structures.event_lookup import EventLookup
from storage.structures.event_ranking import fuse, plain_scores

_FUSED = ("dense", "stemmed", "surrounding")


def pool(prepared: EventLookup, text: str, vector: NDArray[np.float32], size: int) -> NDArray[np.int64]:
    """The places of the `size` events with the best plain scores, fused by rank, ascending; all if there are no more."""
    if len(prepared) <= size:
        return np.arange(len(prepared))
    plain = plain_scores(prepared, text, vector)
    fused = fuse([plain[name] for name in _FUSED])
    return np.sort(np.argsort(-fused, kind="stable")[:size])
