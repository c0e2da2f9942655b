"""The query router: how much an edge matters to a question (HAGE, Eq. 7 and 8).

    w = softplus(MLP([q; e; v_T; cos(q, source); cos(q, target)]))      384 + 4 + 8 + 2 -> 128 -> 64 -> 1

`v_T` is a learned row per intent; the paper gives no size. The question's share of the first layer is computed once per
question, so that an edge costs six inputs instead of 398.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from storage.structures.events import INTENTS, RELATIONS

if TYPE_CHECKING:
    from torch import Tensor

EDGE_INPUTS = len(RELATIONS) + 2
"""The relation features of an edge and the cosines of its ends with the question."""


@dataclass(frozen=True)
class QueryRouter:
    """The weights by name: `intent` (5, i), `first.weight` (h1, d + 4 + i + 2) with columns in the order of Eq. 7 and 8,
    `second.weight` (h2, h1), `last.weight` (1, h2), and a `.bias` for each layer."""

    parameters: Mapping[str, Tensor]

    def ask(self, vectors: Tensor, intents: Tensor) -> AskedRouter:
        """The router for questions with `vectors` (B, d) and intent numbers (B,)."""
        import torch

        weight, size = self.parameters["first.weight"], vectors.shape[1]
        parts = [size, len(RELATIONS), weight.shape[1] - size - EDGE_INPUTS, 2]
        of_query, of_relations, of_intent, of_cosines = weight.split(parts, 1)  # type: ignore[no-untyped-call]
        asked = vectors @ of_query.T + (self.parameters["intent"] @ of_intent.T)[intents] + self.parameters["first.bias"]
        return AskedRouter(self.parameters, asked, torch.cat([of_relations, of_cosines], dim=1))


@dataclass(frozen=True)
class AskedRouter:
    """A router for B questions: the first layer's share `asked` (B, h1), and its columns for edges, `of_edges` (h1, 6)."""

    parameters: Mapping[str, Tensor]
    asked: Tensor
    of_edges: Tensor

    def weights(self, question: Tensor, edges: Tensor) -> Tensor:
        """`w` (M,) of edges with six inputs each (M, 6), for the questions numbered `question` (M,)."""
        from torch.nn.functional import linear, relu, softplus

        named = self.parameters
        hidden = relu(self.asked.index_select(0, question) + edges @ self.of_edges.T)
        hidden = relu(linear(hidden, named["second.weight"], named["second.bias"]))
        return softplus(linear(hidden, named["last.weight"], named["last.bias"])[:, 0])


def new_router(dimension: int, hidden: tuple[int, int], intent_size: int, seed: int) -> QueryRouter:
    """A router for embeddings of `dimension` numbers, drawn as torch draws linear layers: uniform within 1/sqrt(inputs).

    Rows of intents are standard normal. Equal seeds give equal weights.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    sizes = (dimension + EDGE_INPUTS + intent_size, *hidden, 1)
    parameters = {"intent": torch.randn(len(INTENTS), intent_size, generator=generator)}
    for name, inputs, outputs in zip(("first", "second", "last"), sizes, sizes[1:], strict=False):
        bound = 1 / math.sqrt(inputs)
        for part, shape in (("weight", (outputs, inputs)), ("bias", (outputs,))):
            parameters[f"{name}.{part}"] = (torch.rand(shape, generator=generator) * 2 - 1) * bound
    return QueryRouter(parameters)
