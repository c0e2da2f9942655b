"""Questions about one graph with the signals of its events, as the ranker learns from them.

Of a graph with many events only a pool per question is ranked (`pool.py`). Targets have no say in the pool; one outside it
is a target that cannot be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models.router.batch import PackedGraph, pack_graph
from models.router.pool import pool
from models.router.questions import RouterQuestion
from storage.structures.event_lookup import EventLookup, lookup
from storage.structures.event_signals import signals
from storage.structures.events import INTENTS, EventGraph

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class RankedGraph:
    """Q questions, each with a pool of P of the N events.

    `places` (Q, P) of the pooled events, ascending, and `slots` (Q, N) back to the pool, -1 outside; `signals` (Q, P, F),
    `cosines`, `targets` (Q, P), `intents` (Q,); `wanted` (Q,) numbers of targets in and outside the pool; `likeness` (E,)
    cosines between the ends of edges.
    """

    graph: PackedGraph
    places: Tensor
    slots: Tensor
    signals: Tensor
    cosines: Tensor
    targets: Tensor
    intents: Tensor
    wanted: Tensor
    likeness: Tensor

    def __len__(self) -> int:
        return len(self.wanted)

    def edges(self, rows: Tensor, sources: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The edges out of `sources` (B, K), slots in the pools of questions `rows` (B,), to events of the same pool:
        for each its walk (M,), source and target slot, and number in the graph."""
        places = self.places[rows].gather(1, sources)
        frontier = self.graph.frontier(places.flatten())
        walk = frontier.row // sources.shape[1]
        target = self.slots[rows[walk], frontier.target]
        inside = target >= 0
        source = sources.flatten()[frontier.row]
        return walk[inside], source[inside], target[inside], frontier.edge[inside]


def rank_graph(graph: EventGraph, questions: Sequence[RouterQuestion], size: int, device: str = "cpu") -> RankedGraph:
    """The questions about `graph` with pools of at most `size` events."""
    import torch

    prepared = lookup(graph)
    rows = [_row(graph, prepared, question, size) for question in questions]
    places, found, cosines, targets = (np.stack(column) for column in zip(*rows, strict=True))
    slots = np.full((len(rows), len(graph)), -1, dtype=np.int64)
    np.put_along_axis(slots, places, np.arange(places.shape[1])[None], axis=1)
    intents = np.array([INTENTS.index(question.intent) for question in questions])
    wanted = np.array([len(set(question.targets)) for question in questions])
    likeness = np.einsum("ed,ed->e", prepared.vectors[prepared.source], prepared.vectors[prepared.target])
    parts = (places, slots, found, cosines, targets, intents, wanted, likeness)
    return RankedGraph(pack_graph(graph, device), *(torch.from_numpy(part).to(device) for part in parts))


def _row(
    graph: EventGraph, prepared: EventLookup, question: RouterQuestion, size: int
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    places = pool(prepared, question.text, question.vector, size)
    found = signals(graph, question.text, question.vector, question.intent)[prepared.order[places]]
    cosines = prepared.vectors[places] @ question.vector
    return places, found, cosines, np.isin(prepared.steps[places], question.targets).astype(np.float32)
