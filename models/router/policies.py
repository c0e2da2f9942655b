"""Who chooses the next event: the learned router, fixed rules, the nearest neighbour, or chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from models.router.batch import Frontier, PackedQuestions
from models.router.query_router import QueryRouter
from storage.structures.event_walk import STATIC_WEIGHTS
from storage.structures.events import INTENTS

if TYPE_CHECKING:
    from torch import Tensor


Scorer = Callable[["Tensor", Frontier], "Tensor"]
"""Scores (M,) of the edges of a frontier, each for the walk numbered in the first argument (M,)."""


class Policy(Protocol):
    """Scores edges; a walk takes one with the probability softmax(scores) over its open edges (Eq. 10), or the best."""

    def start(self, questions: PackedQuestions, rows: Tensor) -> Scorer:
        """Begin B walks for the questions numbered `rows` (B,): what depends on the question alone is computed here."""
        ...


@dataclass(frozen=True)
class RouterPolicy:
    """Eq. 9: S = mix * cos(target, q) + (1 - mix) * w. `features` (E, 4) are those of the graph, learned or initial."""

    router: QueryRouter
    features: Tensor
    mix: float

    def start(self, questions: PackedQuestions, rows: Tensor) -> Scorer:
        import torch

        asked = self.router.ask(questions.vectors[rows], questions.intents[rows])

        def scores(walk: Tensor, frontier: Frontier) -> Tensor:
            near, far = (questions.cosines[rows[walk], places] for places in (frontier.source, frontier.target))
            ends = torch.stack([near, far], dim=1)
            inputs = torch.cat([self.features.index_select(0, frontier.edge), ends], dim=1)
            return self.mix * far + (1 - self.mix) * asked.weights(walk, inputs)

        return scores


@dataclass(frozen=True)
class StaticPolicy:
    """Fixed weights of the relations by intent in place of the router (`event_walk.static_weights`)."""

    features: Tensor
    mix: float

    def start(self, questions: PackedQuestions, rows: Tensor) -> Scorer:
        import torch

        table = torch.tensor([STATIC_WEIGHTS[name] for name in INTENTS], device=rows.device)[questions.intents[rows]]

        def scores(walk: Tensor, frontier: Frontier) -> Tensor:
            weights = (self.features[frontier.edge] * table[walk]).amax(dim=1)
            return self.mix * questions.cosines[rows[walk], frontier.target] + (1 - self.mix) * weights

        return scores


class CosinePolicy:
    """The neighbour most similar to the question."""

    def start(self, questions: PackedQuestions, rows: Tensor) -> Scorer:
        return lambda walk, frontier: questions.cosines[rows[walk], frontier.target]


class UniformPolicy:
    """All neighbours alike: a random walk when it is sampled."""

    def start(self, questions: PackedQuestions, rows: Tensor) -> Scorer:
        return lambda walk, frontier: questions.cosines.new_zeros(len(walk))
