"""A ranker of events and edges for the walk to follow, beyond the paper: its router has no opinion on events.

    u_j  = MLP(signals of event j)                                                   F -> 32 -> 1
    z    = log softmax(u + mix * cos), from -12 up
    v_j  = u_j + MLP([z_j; max over temporal edges i -> j of z_i + log e_ij; the same for the other relations])
                                                                                     5 -> 12 -> 1
    w_ij = softplus(MLP([e_ij; intent; z_i; z_j; cos(q, i); cos(q, j); cos(i, j)]))  14 -> 16 -> 1
    S_j  = mix * cos(q, j) + v_j + (1 - mix) * max(0, w_ij of the sources i)

The sources are the events with the highest z, which a walk visits first. So an event gains by standing next to a good one,
and how much depends on the relation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from storage.structures.events import INTENTS, RELATIONS

if TYPE_CHECKING:
    from torch import Generator, Tensor

FLOOR = -12.0
"""Log-probabilities below this are all alike: the event is out of the question."""

EXCHANGE_INPUTS = ("own", *RELATIONS)
EDGE_INPUTS = (
    *RELATIONS,
    *(f"asks_{name}" for name in INTENTS),
    "source_value",
    "target_value",
    "source_cosine",
    "target_cosine",
    "likeness",
)


@dataclass(frozen=True)
class Ranker:
    """The weights by name: `mean`, `scale` (F,) of the signals; `events.*`, `exchange.*` and `edges.*`, two layers each."""

    parameters: Mapping[str, Tensor]

    def values(self, signals: Tensor, dropout: float = 0.0, generator: Generator | None = None) -> Tensor:
        """u (...) of events with `signals` (..., F); training drops hidden units out, drawn from `generator`."""
        scaled = (signals - self.parameters["mean"]) / self.parameters["scale"]
        return self._layers("events", scaled, dropout, generator)

    def gains(self, inputs: Tensor) -> Tensor:
        """v - u (...) of events with `inputs` (..., len(EXCHANGE_INPUTS)), each divided by 6."""
        return self._layers("exchange", inputs)

    def weights(self, inputs: Tensor) -> Tensor:
        """w (M,) of edges with `inputs` (M, len(EDGE_INPUTS)), values divided by 12."""
        from torch.nn.functional import softplus

        return softplus(self._layers("edges", inputs))

    def _layers(self, name: str, inputs: Tensor, dropout: float = 0.0, generator: Generator | None = None) -> Tensor:
        import torch

        named = self.parameters
        hidden = torch.relu(inputs @ named[f"{name}.first.weight"].T + named[f"{name}.first.bias"])
        if generator is not None and dropout:
            kept = torch.rand(hidden.shape, generator=generator) >= dropout
            hidden = hidden * kept.to(hidden.device) / (1 - dropout)
        return (hidden @ named[f"{name}.last.weight"].T + named[f"{name}.last.bias"])[..., 0]


def two_layers(name: str, inputs: int, hidden: int, generator: Generator, zero: bool = False) -> dict[str, Tensor]:
    """The weights of `<name>.first` and `<name>.last`, uniform within 1/sqrt(inputs); `zero` starts the last at 0."""
    import torch

    parameters = {}
    for layer, (into, out) in (("first", (inputs, hidden)), ("last", (hidden, 1))):
        for part, shape in (("weight", (out, into)), ("bias", (out,))):
            drawn = (torch.rand(shape, generator=generator) * 2 - 1) / math.sqrt(into)
            parameters[f"{name}.{layer}.{part}"] = drawn * 0 if zero and layer == "last" else drawn
    return parameters


def listwise_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of softmax(`scores`) (B, P) with the `targets` (B, P), 1 or 0, each of them an equal share.

    Mean over questions; those without a target in the pool are left out.
    """
    wanted = targets.sum(1)
    losses = -(scores.log_softmax(1) * targets).sum(1)
    kept = wanted > 0
    return (losses[kept] / wanted[kept]).sum() / max(1, int(kept.sum()))
