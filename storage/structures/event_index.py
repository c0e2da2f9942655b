"""Questions to one event graph: the walk, what of it is shown in which order, and how it is told to people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storage.structures.base import Evidence, Query
from storage.structures.event_walk import WalkConfig, traverse
from storage.structures.events import INTENTS, RELATIONS, EventGraph, Walk
from storage.structures.intent import intent


@dataclass(frozen=True)
class AccessConfig:
    """The evidence is what the walk visited (`WalkConfig.budget` events), with together at most `max_chars` characters.

    Events are read in order of time for the intents in `time_order`, chain by chain, causes before effects, for those in
    `chain_order`, and best first for all others.
    """

    max_chars: int = 32_000
    time_order: tuple[str, ...] = ("temporal",)
    chain_order: tuple[str, ...] = ("causal",)


@dataclass(frozen=True, slots=True)
class Hop:
    """One event of a walk for people: where it was reached from (None: an anchor) and by which relations how strongly."""

    step: int
    ref: str
    score: float
    origin: int | None
    relations: dict[str, float]


@dataclass(frozen=True, slots=True)
class EventGraphIndex:
    """One episode's graph, ready for questions."""

    graph: EventGraph
    walking: WalkConfig
    showing: AccessConfig

    def access(self, query: Query) -> Evidence:
        """The events that the walk kept. `ValueError` when the query has no vector of the right size."""
        if not query.text.strip():
            return Evidence((), localised=False)
        asked = self._intent(query)
        walk = self._walk(query, asked)
        kept = self._affordable(walk)
        read = self._in_order(kept, walk, asked)
        scores = dict(zip(walk.order, walk.scores, strict=True))
        return Evidence(
            tuple(self.graph.texts[i] for i in read),
            tuple(int(self.graph.steps[i]) for i in read),
            tuple(float(scores[i]) for i in kept),
            localised=bool(read),
        )

    def walk(self, query: Query) -> Walk:
        """The whole traversal, before it is cut to the budget. `ValueError` as `access`."""
        return self._walk(query, self._intent(query))

    def explain(self, query: Query) -> tuple[Hop, ...]:
        """The walk for people, best event first."""
        walk = self.walk(query)
        steps, refs = self.graph.steps, self.graph.refs
        hops = []
        for node, score in zip(walk.order, walk.scores, strict=True):
            origin = walk.parent.get(node)
            label = None if origin is None else int(steps[origin])
            hops.append(Hop(int(steps[node]), refs[node], float(score), label, self._relations(origin, node)))
        return tuple(hops)

    def _relations(self, origin: int | None, node: int) -> dict[str, float]:
        if origin is None:
            return {}
        first, last = np.searchsorted(self.graph.source, (origin, origin + 1))
        edge = first + int(np.searchsorted(self.graph.target[first:last], node))
        if edge >= last or self.graph.target[edge] != node:
            return {}
        return {r: float(s) for r, s in zip(RELATIONS, self.graph.features[edge], strict=True) if s > 0}

    def _intent(self, query: Query) -> str:
        if query.intent and query.intent not in INTENTS:
            raise ValueError(f"Query.intent is {query.intent!r}; it must be one of {', '.join(INTENTS)}")
        return query.intent or intent(query.text)

    def _walk(self, query: Query, asked: str) -> Walk:
        vector, size = query.vector, self.graph.vectors.shape[1]
        if vector is None:
            raise ValueError("structure H needs Query.vector: embed the question with the encoder of its events")
        if vector.shape != (size,):
            raise ValueError(f"Query.vector has shape {vector.shape}, the events have {size} numbers: another encoder?")
        opinion = None if query.router is None else query.router.judge(self.graph, query.text, vector, asked)
        return traverse(self.graph, query.text, vector, asked, opinion, self.walking)

    def _affordable(self, walk: Walk) -> list[int]:
        """The best events within the budget; one that is too long makes way for shorter ones, the best always stays."""
        kept: list[int] = []
        left = self.showing.max_chars
        for node in walk.order:
            length = len(self.graph.texts[node])
            if length <= left or not kept:
                kept.append(node)
                left -= length
        return kept

    def _in_order(self, kept: Sequence[int], walk: Walk, asked: str) -> list[int]:
        if asked in self.showing.time_order:
            return sorted(kept)
        if asked in self.showing.chain_order:
            return [node for chain in _chains(kept, walk) for node in sorted(chain)]
        return list(kept)


def _chains(kept: Sequence[int], walk: Walk) -> list[list[int]]:
    """The events that were reached from the same anchor, the chain with the best event first."""
    chains: dict[int, list[int]] = {}
    for node in kept:
        root = node
        while (origin := walk.parent.get(root)) is not None:
            root = origin
        chains.setdefault(root, []).append(node)
    return list(chains.values())
