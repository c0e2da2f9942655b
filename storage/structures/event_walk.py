"""The walk over an event graph for one question: from fused anchors, best edge first (HAGE, section 3.3).

    S(j | i, q) = mix * cos(j, q) + (1 - mix) * w_ij(q) + v_j(q)

`w` and `v` are the router's judgement of edges and events; the paper's router has no opinion on events (v = 0). Without a
router, `w` comes from fixed weights of the relations by intent and `v` from the fused ranks of plain scores.

The walk keeps a frontier of at most `beam` events that it could go to next: the anchors, and the neighbours of those it has
visited. It always goes to the best one and never comes back. To a router an edge adds to what an anchor is worth; the fixed
rules, which know no such scale, let an anchor count as reached by an edge of mean weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storage.structures.event_lookup import EventLookup, Floats, lookup
from storage.structures.event_ranking import RRF, fuse, plain_scores
from storage.structures.events import INTENTS, EventGraph, Judgement, Walk

STATIC_WEIGHTS = {
    "temporal": (1.0, 0.3, 0.3, 0.3),
    "semantic": (0.3, 1.0, 0.3, 0.5),
    "causal": (0.5, 0.3, 1.0, 0.3),
    "entity": (0.3, 0.5, 0.3, 1.0),
    "general": (0.5, 0.5, 0.5, 0.5),
}
"""How much each of `RELATIONS` counts for each of `INTENTS` when no router has learned it."""


@dataclass(frozen=True)
class WalkConfig:
    """`anchors` events to start from, fused with the constant `rrf`; at most `beam` events wait to be visited; an event is
    at most `hops` edges from its anchor; `budget` events are visited; `mix` is the paper's lambda."""

    anchors: int = 30
    rrf: int = RRF
    beam: int = 64
    hops: int = 2
    budget: int = 15
    mix: float = 0.5


def traverse(
    graph: EventGraph,
    text: str,
    vector: NDArray[np.float32],
    intent: str,
    judgement: Judgement | None = None,
    config: WalkConfig | None = None,
) -> Walk:
    """Walk `graph` for a question with the embedding `vector` (d,); `judgement` is the router's, None walks by fixed rules.

    Deterministic; of equal scores the lower step comes first. `ValueError` for a vector or a judgement of the wrong shape,
    and for an unknown intent.
    """
    config = config or WalkConfig()
    _check(graph, vector, intent, judgement)
    if not len(graph):
        return Walk((), ())
    prepared = lookup(graph)
    plain = plain_scores(prepared, text, vector)
    nodes, edges = _rules(prepared, plain, intent) if judgement is None else _by_place(prepared, judgement)
    values = nodes + config.mix * plain["dense"]
    anchors = _anchors(prepared, text, plain, values, config)
    weights = (1 - config.mix) * edges
    bonus = float(weights.mean()) if judgement is None and len(weights) else 0.0
    walk = _Walker(prepared, values, weights, config).walk(anchors, bonus)
    return _in_graph_order(walk, prepared)


def static_weights(features: NDArray[np.float32], intent: str) -> NDArray[np.float32]:
    """The weight of every edge (E,) under the fixed rules: its strongest relation, as much as the intent asks for it."""
    if not len(features):
        return np.zeros(0, dtype=np.float32)
    weighted: NDArray[np.float32] = (features * np.array(STATIC_WEIGHTS[intent], dtype=np.float32)).max(axis=1)
    return weighted


def _check(graph: EventGraph, vector: NDArray[np.float32], intent: str, judgement: Judgement | None) -> None:
    if intent not in INTENTS:
        raise ValueError(f"{intent!r} is no intent: choose one of {', '.join(INTENTS)}")
    if len(graph) and vector.shape != graph.vectors.shape[1:]:
        expected = graph.vectors.shape[1]
        raise ValueError(
            f"{graph.episode_id}: the question's vector has the shape {vector.shape}, events have {expected} numbers"
        )
    if judgement is not None and (len(judgement.nodes), len(judgement.edges)) != (len(graph), len(graph.source)):
        raise ValueError(
            f"{graph.episode_id}: the router judged another graph: {len(judgement.nodes)} events and {len(judgement.edges)} "
            f"edges, not {len(graph)} and {len(graph.source)}"
        )


def _rules(prepared: EventLookup, plain: dict[str, Floats], intent: str) -> tuple[Floats, Floats]:
    """Events by their fused ranks, scaled to at most 1, and edges by the weights of their relations."""
    fused = fuse([plain[name] for name in ("dense", "stemmed", "surrounding")])
    return fused / fused.max(), static_weights(prepared.features, intent).astype(np.float64)


def _by_place(prepared: EventLookup, judgement: Judgement) -> tuple[Floats, Floats]:
    return judgement.nodes[prepared.order].astype(np.float64), judgement.edges[prepared.edge_order].astype(np.float64)


def _anchors(
    prepared: EventLookup, text: str, plain: dict[str, Floats], values: Floats, config: WalkConfig
) -> NDArray[np.int64]:
    """The places where the walk starts: dense, sparse, named times and the walk's own values, fused by rank."""
    rankings = [values, plain["dense"], plain["surrounding"]]
    named = prepared.named(text)
    if named.any():
        rankings.append(named + plain["dense"])
    return np.argsort(-fuse(rankings, config.rrf), kind="stable")[: config.anchors]


class _Walker:
    """One walk by place. `scores` of the frontier: what going to an event is worth; -inf for events that are not on it."""

    def __init__(self, prepared: EventLookup, values: Floats, weights: Floats, config: WalkConfig) -> None:
        self._prepared, self._values, self._weights, self._config = prepared, values, weights, config
        self._frontier = np.full(len(values), -np.inf)
        self._visited = np.zeros(len(values), dtype=bool)
        self._parent: dict[int, int] = {}
        self._depth: dict[int, int] = {}

    def walk(self, anchors: NDArray[np.int64], bonus: float) -> Walk:
        """Visit the best event of the frontier until the budget is spent or nothing is left; `bonus` is an anchor's."""
        self._frontier[anchors] = self._values[anchors] + bonus
        self._depth.update((int(anchor), 0) for anchor in anchors)
        order: list[int] = []
        scores: list[float] = []
        while len(order) < self._config.budget:
            best = int(np.argmax(self._frontier))  # the first of equals is the lowest step
            if self._frontier[best] == -np.inf:
                break
            order.append(best)
            scores.append(float(self._frontier[best]))
            self._visit(best)
        ranking = sorted(range(len(order)), key=lambda i: (-scores[i], order[i]))
        kept = [order[i] for i in ranking]
        return Walk(tuple(kept), tuple(scores[i] for i in ranking), {i: self._parent[i] for i in kept if i in self._parent})

    def _visit(self, event: int) -> None:
        """Take `event` off the frontier for good and put its neighbours on it."""
        self._frontier[event] = -np.inf
        self._visited[event] = True
        if self._depth[event] >= self._config.hops:
            return
        edges = slice(self._prepared.starts[event], self._prepared.starts[event + 1])
        targets = self._prepared.target[edges]
        offers = self._values[targets] + self._weights[edges]
        better = ~self._visited[targets] & (offers > self._frontier[targets])
        self._frontier[targets[better]] = offers[better]
        for target in targets[better].tolist():
            self._parent[target], self._depth[target] = event, self._depth[event] + 1
        self._forget()

    def _forget(self) -> None:
        """Drop the worst of the frontier beyond the beam; of equals the higher step."""
        waiting = np.flatnonzero(self._frontier > -np.inf)
        if len(waiting) > self._config.beam:
            worst = waiting[np.argsort(-self._frontier[waiting], kind="stable")[self._config.beam :]]
            self._frontier[worst] = -np.inf


def _in_graph_order(walk: Walk, prepared: EventLookup) -> Walk:
    """The walk by the positions of the graph instead of places."""
    at = prepared.order.tolist()
    return Walk(tuple(at[i] for i in walk.order), walk.scores, {at[i]: at[j] for i, j in walk.parent.items()})
