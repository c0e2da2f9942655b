"""The settings of a training, and the two that are compared: the paper's, and our best."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from storage.structures.event_walk import WalkConfig

Mode = Literal["static", "edge-only", "router-only", "joint"]
MODES: tuple[Mode, ...] = ("static", "edge-only", "router-only", "joint")


@dataclass(frozen=True)
class RewardConfig:
    """Eq. 11: `hit` for every target found first, minus `step` at every step, minus `timeout` when the hops run out."""

    hit: float = 10.0
    step: float = 0.05
    timeout: float = 1.0


@dataclass(frozen=True)
class ReinforceConfig:
    """Appendix B, and what it leaves open: `mix` (lambda of Eq. 9), `intent_size`, and how questions share a batch.

    `batch` questions of one graph roll out together and make one optimiser step, each `samples` times.
    """

    epochs: int = 200
    hops: int = 5
    mix: float = 0.5
    gamma: float = 0.99
    baseline_decay: float = 0.99
    anchor: float = 1.0
    clip: float = 1.0
    router_rate: float = 1e-3
    edge_rate: float = 1e-4
    batch: int = 64
    samples: int = 1
    evaluate_every: int = 5
    hidden: tuple[int, int] = (128, 64)
    intent_size: int = 8
    reward: RewardConfig = field(default_factory=RewardConfig)


@dataclass(frozen=True)
class RankerConfig:
    """The listwise ranker (`ranker.py`): sizes of its hidden layers, epochs of its two stages, AdamW's rate and decay.

    Of a graph with more than `pool` events, those with the best fused plain scores are ranked. Edges out of the `sources`
    best events of a question have weights.
    """

    hidden: int = 32
    exchange_hidden: int = 12
    edge_hidden: int = 16
    epochs: int = 30
    exchange_epochs: int = 40
    rate: float = 3e-3
    decay: float = 1e-3
    dropout: float = 0.1
    batch: int = 64
    pool: int = 2_048
    sources: int = 60


@dataclass(frozen=True)
class RouterConfig:
    """A whole training. `ranker` None learns no opinion on events, as the paper."""

    name: str
    mode: Mode = "joint"
    reinforce: ReinforceConfig | None = field(default_factory=ReinforceConfig)
    ranker: RankerConfig | None = None
    walk: WalkConfig = field(default_factory=WalkConfig)
    adversarial: bool = False


PRESETS = {
    "paper": RouterConfig("paper", walk=WalkConfig(hops=5)),
    "best": RouterConfig("best", reinforce=None, ranker=RankerConfig()),
}


def preset(name: str) -> RouterConfig:
    """The settings called `name`. `ValueError` lists the choices."""
    if name not in PRESETS:
        raise ValueError(f"there is no preset {name!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
