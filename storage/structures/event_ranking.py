"""Rankings of a graph's events without any walk: by cosine, by BM25, and their reciprocal rank fusion.

They are the anchors of a walk, and the baselines that a walk must beat.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from storage.structures.event_lookup import EventLookup, Floats, lookup
from storage.structures.events import EventGraph
from storage.structures.lexical import tokens
from storage.structures.stems import content_stems

RRF = 60
"""The usual constant of reciprocal rank fusion."""

BASELINES = ("dense", "bm25", "fusion")


def ranked(values: Floats) -> NDArray[np.int64]:
    """The rank from 1 of every value, highest first: 1 + how many are higher. Equal values share a rank."""
    not_higher = np.searchsorted(np.sort(values), values, side="right")
    return len(values) - not_higher + 1


def fuse(rankings: Sequence[Floats], constant: int = RRF) -> Floats:
    """Reciprocal rank fusion of scores (N,) of the same events: the sum of 1 / (constant + rank)."""
    shares: Floats = np.sum([1 / (constant + ranked(values)) for values in rankings], axis=0)
    return shares


def plain_scores(prepared: EventLookup, text: str, vector: NDArray[np.float32]) -> dict[str, Floats]:
    """The scores (N,) of every event by place: `dense` (cosine), and BM25 of its words (`plain`), of the stems of its
    content words (`stemmed`), and of those around it (`surrounding`)."""
    terms = content_stems(text)
    return {
        "dense": (prepared.vectors @ vector).astype(np.float64),
        "plain": prepared.plain.scores(tokens(text)),
        "stemmed": prepared.stemmed.scores(terms),
        "surrounding": prepared.surrounding.scores(terms),
    }


def baseline_orders(graph: EventGraph, text: str, vector: NDArray[np.float32]) -> dict[str, NDArray[np.int64]]:
    """The positions of all events, best first, under each of `BASELINES`; equal scores in step order."""
    prepared = lookup(graph)
    scores = plain_scores(prepared, text, vector)
    dense, bm25 = scores["dense"], scores["plain"]
    by_name = {"dense": dense, "bm25": bm25, "fusion": fuse((dense, bm25))}
    return {name: prepared.order[np.argsort(-by_name[name], kind="stable")] for name in BASELINES}
