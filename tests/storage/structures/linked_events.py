"""Small linked event graphs for tests, and the same graph in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from storage.structures.event_links import PER_EVENT
from storage.structures.events import EventGraph
from tests.storage.structures.events_of import Said, nodes_of

Edges = Mapping[tuple[int, int], Sequence[float]]


def linked(events: Sequence[Said], edges: Edges, dimension: int = 32) -> EventGraph:
    """`edges` maps positions (source, target) to the four features."""
    pairs = sorted(edges)
    return replace(
        nodes_of(events, dimension),
        source=np.array([source for source, _ in pairs], dtype=np.int32),
        target=np.array([target for _, target in pairs], dtype=np.int32),
        features=np.array([edges[pair] for pair in pairs], dtype=np.float32).reshape(-1, 4),
    )


def permuted(graph: EventGraph, order: NDArray[np.int64]) -> EventGraph:
    """The same graph whose event at position i is that at `order[i]` of `graph`; edges sorted anew."""
    place = np.argsort(order)
    source, target = place[graph.source], place[graph.target]
    edges = np.lexsort((target, source))
    fields = {}
    for name in PER_EVENT:
        values = getattr(graph, name)
        fields[name] = tuple(values[i] for i in order) if isinstance(values, tuple) else values[order]
    return replace(
        graph,
        **fields,
        source=source[edges].astype(np.int32),
        target=target[edges].astype(np.int32),
        features=graph.features[edges],
    )
