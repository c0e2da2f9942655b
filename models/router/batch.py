"""Graphs and their questions as tensors, so that all questions of a graph walk at once.

Neighbours are gathered from a compressed list for the events where the walks stand: none is padded to the largest degree.
Places are in step order (`EventLookup`), so the order of a graph's arrays changes nothing, and of equal edges the one to the
lower step comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.router.questions import RouterQuestion
from storage.structures.event_lookup import lookup
from storage.structures.events import INTENTS, EventGraph

if TYPE_CHECKING:
    from torch import Tensor


class Frontier(NamedTuple):
    """M edges that walks could take: `row` (M,) which walk, ascending; `edge` (M,) and its `source` and `target` places."""

    row: Tensor
    edge: Tensor
    source: Tensor
    target: Tensor


def entries(starts: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """The entries of `places` (B,) in a compressed list: for each its row in `places`, ascending, and its number."""
    import torch

    first = starts[places]
    count = starts[places + 1] - first
    row = torch.repeat_interleave(torch.arange(len(places), device=places.device), count)
    return row, torch.arange(len(row), device=places.device) + (first - (count.cumsum(0) - count))[row]


@dataclass(frozen=True)
class PackedGraph:
    """N events and E edges by place: `starts` (N + 1,) of each event's edges, `target` (E,), `features` (E, 4)."""

    starts: Tensor
    target: Tensor
    features: Tensor

    def frontier(self, places: Tensor) -> Frontier:
        """The edges out of `places` (B,), one place per walk."""
        row, edge = entries(self.starts, places)
        return Frontier(row, edge, places[row], self.target[edge])


@dataclass(frozen=True)
class PackedQuestions:
    """Q questions about one graph: `vectors` (Q, d), `intents` (Q,), `cosines` (Q, N) with every event, `targets` (Q, N).

    `starts` (Q,) are the events most similar to the questions, of equals the lower step: targets have no say in them.
    """

    vectors: Tensor
    intents: Tensor
    cosines: Tensor
    starts: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.starts)


def pack_graph(graph: EventGraph, device: str = "cpu") -> PackedGraph:
    """The edges of a graph as tensors."""
    import torch

    prepared = lookup(graph)
    parts = (prepared.starts, prepared.target, prepared.features)
    return PackedGraph(*(torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in parts))


def pack_questions(graph: EventGraph, questions: Sequence[RouterQuestion], device: str = "cpu") -> PackedQuestions:
    """The questions about `graph` as tensors. `ValueError` names a question without a target in the graph."""
    import torch

    prepared = lookup(graph)
    vectors = np.stack([question.vector for question in questions])
    cosines = np.stack([prepared.vectors @ vector for vector in vectors])  # one by one: equal whatever shares the batch
    targets = np.zeros(cosines.shape, dtype=bool)
    for row, question in enumerate(questions):
        targets[row] = np.isin(prepared.steps, question.targets)
        if not targets[row].any():
            raise ValueError(f"{question.question_id} has no target among the events of {graph.episode_id}")
    intents = np.array([INTENTS.index(question.intent) for question in questions])
    parts = (vectors, intents, cosines, cosines.argmax(axis=1), targets)
    return PackedQuestions(*(torch.from_numpy(part).to(device) for part in parts))


def question_batches(sizes: Sequence[int], size: int, rng: np.random.Generator) -> list[tuple[int, NDArray[np.int64]]]:
    """All questions of graphs with `sizes` questions in random batches of about `size`, in random order.

    A batch is of one graph: its number, and those of the questions.
    """
    batches = [
        (graph, part)
        for graph, count in enumerate(sizes)
        for part in np.array_split(rng.permutation(count), max(1, round(count / size)))
    ]
    return [batches[i] for i in rng.permutation(len(batches))]
