"""What events learn from their neighbours, and edges from their ends, once every event has a value of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.router.batch import entries
from models.router.ranker import FLOOR
from models.router.ranking_data import RankedGraph
from storage.structures.events import INTENTS, RELATIONS

if TYPE_CHECKING:
    from torch import Tensor

_ROWS_AT_ONCE = 32
"""Questions per pass: bounds the memory on graphs with many edges."""


@dataclass(frozen=True)
class EdgeInputs:
    """Edges out of the sources of Q questions, one question's after another's: those of q begin at `starts[q]` (Q + 1,).

    `target` (M,) are slots, `inputs` (M, len(EDGE_INPUTS)).
    """

    starts: Tensor
    target: Tensor
    inputs: Tensor

    def of(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The edges of the questions numbered `rows` (B,): row in `rows`, target and inputs of each."""
        row, edge = entries(self.starts, rows)
        return row, self.target[edge], self.inputs[edge]


def log_shares(values: Tensor, cosines: Tensor, mix: float) -> Tensor:
    """z (Q, P): the logarithm of every event's share of a question, cut at `FLOOR`."""
    return (values + mix * cosines).log_softmax(1).clamp_min(FLOOR)


def exchange_inputs(graph: RankedGraph, shares: Tensor) -> Tensor:
    """z of every event and, by relation, the best z + log e that reaches it over an edge: (Q, P, 5), divided by 6.

    An event that no edge of a relation reaches has 2 less than `FLOOR` there.
    """
    import torch

    rows = torch.arange(len(shares), device=shares.device)
    parts = [rows[start : start + _ROWS_AT_ONCE] for start in range(0, len(rows), _ROWS_AT_ONCE)]
    return torch.cat([_exchanged(graph, part, shares[part]) for part in parts]) / 6


def _exchanged(graph: RankedGraph, rows: Tensor, shares: Tensor) -> Tensor:
    import torch

    everything = torch.arange(shares.shape[1], device=shares.device).expand(len(rows), -1)
    walk, source, target, edge = graph.edges(rows, everything)
    columns = [shares]
    for column in range(len(RELATIONS)):
        strength = graph.graph.features[edge, column]
        held = strength > 0
        offers = shares[walk[held], source[held]] + strength[held].log()
        reached = shares.new_full((shares.numel(),), FLOOR - 2)
        slots = walk[held] * shares.shape[1] + target[held]
        columns.append(reached.scatter_reduce(0, slots, offers, "amax").view_as(shares))
    return torch.stack(columns, dim=2)


def edge_inputs(graph: RankedGraph, shares: Tensor, sources: int) -> EdgeInputs:
    """The edges out of the `sources` events with the highest z (Q, P) of every question, with their inputs."""
    import torch

    rows = torch.arange(len(shares), device=shares.device)
    best = shares.argsort(dim=1, descending=True, stable=True)[:, :sources]
    row, source, target, edge = graph.edges(rows, best)
    asked = torch.eye(len(INTENTS), device=shares.device)[graph.intents[row]]
    ends = [part[row, slot] for part in (shares / -FLOOR, graph.cosines) for slot in (source, target)]
    columns = torch.stack([*ends, graph.likeness[edge]], dim=1)
    starts = torch.searchsorted(row, torch.arange(len(shares) + 1, device=row.device))
    return EdgeInputs(starts, target, torch.cat([graph.graph.features[edge], asked, columns], dim=1))
