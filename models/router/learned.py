"""The trained router at access time: numpy only, from the weights alone, so that asking a question loads no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.router.learner import Arrays
from models.router.ranker_inference import edge_weights, exchanged, rank_events, softplus
from models.router.weights import RouterWeights, WeightsError, graph_digest
from storage.structures.event_lookup import EventLookup, lookup
from storage.structures.event_signals import SIGNALS
from storage.structures.events import INTENTS, RELATIONS, EventGraph, Judgement

Floats = NDArray[np.float32]

OUTSIDE = np.float32(-30)
"""The value of an event outside the pool of a large graph: no walk goes there while another event is left."""

ROUTED = 1_024
"""Of a graph with more events, the paper's router judges the edges out of this many, those most similar to the question."""


@dataclass(frozen=True)
class LearnedRouter:
    """Implements `storage.structures.events.Router`. `WeightsError` for weights made for other inputs than this code's."""

    weights: RouterWeights

    def __post_init__(self) -> None:
        expected = {"signals": SIGNALS, "relations": RELATIONS, "intents": INTENTS}
        for name, value in expected.items():
            if tuple(self.weights.header.get(name, ())) != value:
                raise WeightsError(f"the router was trained on other {name} than this version has: train it again")

    @property
    def name(self) -> str:
        return f"{self.weights.header['preset']}-{self.weights.digest}"

    def judge(self, graph: EventGraph, text: str, vector: Floats, intent: str) -> Judgement:
        """Events and edges as the ranker sees them, if there is one; else events are all alike and the router judges edges.

        A graph that was trained on has its learned edge features, any other its own. `ValueError` for a vector of another
        encoder than the training's.
        """
        if vector.shape != (self.weights.header["dimension"],):
            raise ValueError(
                f"the router expects {self.weights.header['dimension']} numbers per question, not {vector.shape}"
            )
        prepared = lookup(graph)
        if self._ranker:
            return self._ranked(graph, prepared, text, vector, intent)
        edges = np.zeros(len(graph.source), np.float32)
        edges[prepared.edge_order] = self._routed(graph.episode_id, prepared, vector, intent)
        return Judgement(np.zeros(len(graph), np.float32), edges)

    @cached_property
    def _ranker(self) -> Arrays:
        return self.weights.part("ranker")

    @cached_property
    def _router(self) -> Arrays:
        return self.weights.part("router")

    def _ranked(self, graph: EventGraph, prepared: EventLookup, text: str, vector: Floats, intent: str) -> Judgement:
        header, nodes = self.weights.header, np.full(len(graph), OUTSIDE, np.float32)
        ranked = rank_events(self._ranker, graph, text, vector, intent, header["pool"], header["mix"])
        nodes[prepared.order[ranked.places]] = exchanged(self._ranker, prepared, ranked)
        edges = np.zeros(len(graph.source), np.float32)
        edges[prepared.edge_order] = edge_weights(self._ranker, prepared, ranked, intent, header["sources"])
        return Judgement(nodes, edges)

    def _routed(self, episode_id: str, prepared: EventLookup, vector: Floats, intent: str) -> Floats:
        """w (E,) by place: `QueryRouter.weights` for every edge out of the events nearest to the question, 0 elsewhere."""
        near: Floats = prepared.vectors @ vector
        close = np.zeros(len(prepared), dtype=bool)
        close[np.argsort(-near, kind="stable")[:ROUTED]] = True
        number = np.flatnonzero(close[prepared.source])
        ends = [near[part[number]] for part in (prepared.source, prepared.target)]
        inputs = np.column_stack([self._features(episode_id, prepared)[number], *ends])
        weights = np.zeros(len(prepared.source), np.float32)
        weights[number] = _router_weights(self._router, vector, INTENTS.index(intent), inputs)
        return weights

    def _features(self, episode_id: str, prepared: EventLookup) -> Floats:
        trained = self.weights.header["graphs"].get(episode_id)
        if trained is not None and trained == graph_digest(prepared):
            return self.weights.arrays[f"edges/{episode_id}"]
        return prepared.features


def _router_weights(named: Mapping[str, Floats], vector: Floats, intent: int, inputs: Floats) -> Floats:
    """`QueryRouter.asked` and `QueryRouter.weights` of one question: w (M,) of edges with `inputs` (M, 6)."""
    weight, size = named["first.weight"], len(vector)
    of_edges = np.concatenate([weight[:, size : size + len(RELATIONS)], weight[:, -2:]], axis=1)
    of_intent = weight[:, size + len(RELATIONS) : -2]
    asked = weight[:, :size] @ vector + of_intent @ named["intent"][intent] + named["first.bias"]
    hidden = np.maximum(inputs @ of_edges.T + asked, 0)
    hidden = np.maximum(hidden @ named["second.weight"].T + named["second.bias"], 0)
    return softplus((hidden @ named["last.weight"].T + named["last.bias"])[:, 0])
