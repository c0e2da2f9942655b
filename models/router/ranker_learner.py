"""Trains the ranker in two stages: events by themselves, then what they gain over edges, the first stage's values fixed.

Both learn listwise from all targets of a question at once, and choose the epoch by recall on validation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from models.router.batch import question_batches
from models.router.exchange import edge_inputs, exchange_inputs, log_shares
from models.router.learner import Arrays, EpochRecord, arrays_of, moments, restore_moments
from models.router.presets import RankerConfig
from models.router.ranker import EDGE_INPUTS, EXCHANGE_INPUTS, Ranker, listwise_loss, two_layers
from models.router.ranking_data import RankedGraph

if TYPE_CHECKING:
    from torch import Generator, Tensor

DEPTHS = (15, 30)
"""The epoch is chosen by the mean recall at these numbers of events."""


class Objective(Protocol):
    """What a listwise stage trains: `trained` names those of `parameters` that change."""

    @property
    def stage(self) -> str: ...

    @property
    def epochs(self) -> int: ...

    @property
    def parameters(self) -> dict[str, Tensor]: ...

    @property
    def trained(self) -> Sequence[str]: ...

    def scores(self, graph: int, rows: Tensor, generator: Generator | None) -> Tensor:
        """The scores (B, P) of the pools of the questions numbered `rows`; a generator means training (dropout)."""
        ...


class ListwiseLearner:
    """A stage of the ranker: AdamW with a cosine schedule over shuffled batches of questions of one graph each.

    The first `training` of `graphs` are trained on, the others validate.
    """

    def __init__(
        self, objective: Objective, graphs: Sequence[RankedGraph], training: int, config: RankerConfig, seed: int
    ) -> None:
        import torch

        self.config, self._objective, self._seed = config, objective, seed
        self._graphs, self._training = graphs, training
        self._named = {name: objective.parameters[name].requires_grad_() for name in objective.trained}
        self._optimiser = torch.optim.AdamW(list(self._named.values()), lr=config.rate, weight_decay=config.decay)

    @property
    def stage(self) -> str:
        return self._objective.stage

    @property
    def epochs(self) -> int:
        return self._objective.epochs

    def epoch(self, number: int) -> EpochRecord:
        rng = np.random.default_rng([self._seed, number])
        self._optimiser.param_groups[0]["lr"] = self.config.rate * (1 + np.cos(np.pi * number / self.epochs)) / 2
        sizes = [len(graph) for graph in self._graphs[: self._training]]
        losses = [self._update(*batch, rng) for batch in question_batches(sizes, self.config.batch, rng)]
        return EpochRecord(self.stage, number, float(np.mean(losses)), recall=self._validate())

    def quality(self, record: EpochRecord) -> float | None:
        """The mean recall at 15 and at 30 on validation."""
        return record.recall

    def parameters(self) -> Arrays:
        return arrays_of(self._objective.parameters)

    def progress(self) -> tuple[Arrays, dict[str, float]]:
        return self.parameters() | moments(self._optimiser, list(self._named)), {}

    def resume(self, arrays: Arrays, numbers: Mapping[str, float]) -> None:
        import torch

        for name, tensor in self._named.items():
            tensor.data.copy_(torch.from_numpy(arrays[name]))
        restore_moments(self._optimiser, list(self._named), arrays)

    def _update(self, graph: int, part: NDArray[np.int64], rng: np.random.Generator) -> float:
        import torch

        rows = torch.from_numpy(part).to(self._graphs[graph].wanted.device)
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        scores = self._objective.scores(graph, rows, generator)
        loss = listwise_loss(scores, self._graphs[graph].targets[rows])
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimiser.step()
        return float(loss.detach())

    def _validate(self) -> float:
        import torch

        found = []
        for number in range(self._training, len(self._graphs)):
            graph = self._graphs[number]
            with torch.no_grad():
                scores = self._objective.scores(number, torch.arange(len(graph), device=graph.wanted.device), None)
            found.append(recall_at(scores, graph, DEPTHS).mean(dim=1))
        return float(torch.cat(found).mean())


def recall_at(scores: Tensor, graph: RankedGraph, depths: Sequence[int]) -> Tensor:
    """The share of every question's targets among its best events, (Q, len(depths)); of equal scores the lower step is
    better, and targets outside the pool are not found."""
    import torch

    order = scores.argsort(dim=1, descending=True, stable=True)
    hits = graph.targets.gather(1, order).cumsum(1)
    at = [hits[:, min(depth, hits.shape[1]) - 1] / graph.wanted for depth in depths]
    return torch.stack(at, dim=1)


class EventObjective:
    """The first stage: u of events from their signals."""

    stage = "events"

    def __init__(self, graphs: Sequence[RankedGraph], training: int, config: RankerConfig, mix: float, seed: int) -> None:
        import torch

        generator = torch.Generator().manual_seed(seed)
        mean, scale = _standard(graphs[:training])
        layers = two_layers("events", len(mean), config.hidden, generator)
        self.parameters = {"mean": mean, "scale": scale, **layers}
        self.trained = list(layers)
        self.epochs, self._config, self._mix, self._graphs = config.epochs, config, mix, graphs

    def scores(self, graph: int, rows: Tensor, generator: Generator | None) -> Tensor:
        data = self._graphs[graph]
        values = Ranker(self.parameters).values(data.signals[rows], self._config.dropout, generator)
        return values + self._mix * data.cosines[rows]


class ExchangeObjective:
    """The second stage: what events gain over edges, and what edges weigh. `first` are the weights of the first stage."""

    stage = "exchange"

    def __init__(self, graphs: Sequence[RankedGraph], first: Arrays, config: RankerConfig, mix: float, seed: int) -> None:
        import torch

        generator = torch.Generator().manual_seed(seed + 1)
        self.parameters = {
            **two_layers("exchange", len(EXCHANGE_INPUTS), config.exchange_hidden, generator, zero=True),
            **two_layers("edges", len(EDGE_INPUTS), config.edge_hidden, generator),
        }
        self.parameters["edges.last.bias"] -= 2  # edges start with little weight
        self.trained = list(self.parameters)
        self.epochs, self._mix = config.exchange_epochs, mix
        ranker = Ranker({name: torch.from_numpy(array).to(graphs[0].wanted.device) for name, array in first.items()})
        self._bases, self._exchange, self._edges = [], [], []
        with torch.no_grad():
            for graph in graphs:
                values = ranker.values(graph.signals)
                shares = log_shares(values, graph.cosines, mix)
                self._bases.append(values + mix * graph.cosines)
                self._exchange.append(exchange_inputs(graph, shares))
                self._edges.append(edge_inputs(graph, shares, config.sources))

    def scores(self, graph: int, rows: Tensor, generator: Generator | None) -> Tensor:
        ranker, base = Ranker(self.parameters), self._bases[graph][rows]
        row, target, inputs = self._edges[graph].of(rows)
        slots = row * base.shape[1] + target
        bonus = base.new_zeros(base.numel()).scatter_reduce(0, slots, ranker.weights(inputs), "amax").view_as(base)
        return base + ranker.gains(self._exchange[graph][rows]) + (1 - self._mix) * bonus


def _standard(graphs: Sequence[RankedGraph]) -> tuple[Tensor, Tensor]:
    """Mean and deviation (F,) of the signals over all pooled events of all questions."""
    counts = sum(graph.signals.shape[0] * graph.signals.shape[1] for graph in graphs)
    mean = (
        sum((graph.signals.double().sum((0, 1)) for graph in graphs), start=graphs[0].signals.new_zeros(()).double())
        / counts
    )
    squares = sum((((graph.signals.double() - mean) ** 2).sum((0, 1)) for graph in graphs), start=mean.new_zeros(()))
    return mean.float(), (squares / counts).sqrt().float() + 1e-6
