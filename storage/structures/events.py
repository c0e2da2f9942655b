"""The event graph of one episode (HAGE, section 3.2): event nodes, directed edges with one feature per relation.

An event is one step (or, in HotpotQA, one passage). Parallel relations between two events are one edge: its vector says how
strongly each relation holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

RELATIONS = ("temporal", "semantic", "causal", "entity")
"""The order of the four numbers of an edge, everywhere (HAGE, Eq. 6)."""

INTENTS = (*RELATIONS, "general")
"""What a question can ask to follow; `general` when no relation stands out."""


@dataclass(frozen=True)
class EventGraph:
    """N events in step order and E directed edges, sorted by (source, target), without loops or duplicates.

    Per event: `steps` (N,) int64 labels; `texts` what the evidence shows; `contents` what was embedded; `speakers` speaker
    or actor, "" if none; `sessions` (N,) int64, -1 if none; `seconds` (N,) float64 UTC, NaN if undated; `entities`
    normalised names; `refs`; `vectors` (N, d) float32, L2-normalised. `source`, `target` (E,) int32 are positions in these;
    `features` (E, 4) float32 in the order of `RELATIONS`, each in [0, 1].
    """

    episode_id: str
    steps: NDArray[np.int64]
    texts: tuple[str, ...]
    contents: tuple[str, ...]
    speakers: tuple[str, ...]
    sessions: NDArray[np.int64]
    seconds: NDArray[np.float64]
    entities: tuple[tuple[str, ...], ...]
    refs: tuple[str, ...]
    vectors: NDArray[np.float32]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    features: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True)
class Judgement:
    """A router's opinion on one question: `nodes` (N,) how likely each event is evidence, as a logit; `edges` (E,) the
    structural weight w >= 0 of each edge (HAGE, Eq. 8)."""

    nodes: NDArray[np.float32]
    edges: NDArray[np.float32]


class Router(Protocol):
    """What structure H asks about a question. `name` identifies the weights in cache keys: equal names, equal judgements."""

    @property
    def name(self) -> str: ...

    def judge(self, graph: EventGraph, text: str, vector: NDArray[np.float32], intent: str) -> Judgement:
        """Judge every event and edge of `graph` for a question; `vector` (d,) is its embedding, `intent` is in `INTENTS`."""
        ...


@dataclass(frozen=True)
class Walk:
    """Where a traversal went: `order` positions of the events kept, best first, with `scores`; `parent` maps a kept event to
    the one that it was reached from (anchors have none)."""

    order: tuple[int, ...]
    scores: tuple[float, ...]
    parent: Mapping[int, int] = field(default_factory=dict)
