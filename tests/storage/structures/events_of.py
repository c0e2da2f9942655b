"""Event graphs without edges, made by hand for tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np

from storage.structures.events import EventGraph


class Said(NamedTuple):
    """One event; its vector points along `axes`, equal axes give a cosine of 1."""

    text: str
    speaker: str = ""
    session: int = -1
    at: datetime | None = None
    entities: tuple[str, ...] = ()
    axes: tuple[int, ...] = ()


def nodes_of(events: Sequence[Said], dimension: int = 32, first_step: int = 0, episode_id: str = "e") -> EventGraph:
    """Step labels count from `first_step` by two, so that no test takes a label for a position.

    An event without axes has an axis of its own, counted from the last one down by its label.
    """
    vectors = np.zeros((len(events), dimension), dtype=np.float32)
    for i, event in enumerate(events):
        vectors[i, list(event.axes) or [dimension - 1 - first_step // 2 - i]] = 1
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    texts = tuple(event.text for event in events)
    return EventGraph(
        episode_id,
        steps=np.arange(len(events), dtype=np.int64) * 2 + first_step,
        texts=texts,
        contents=texts,
        speakers=tuple(event.speaker for event in events),
        sessions=np.array([event.session for event in events], dtype=np.int64),
        seconds=np.array([np.nan if event.at is None else event.at.timestamp() for event in events]),
        entities=tuple(event.entities for event in events),
        refs=tuple("" for _ in events),
        vectors=vectors,
        source=np.zeros(0, np.int32),
        target=np.zeros(0, np.int32),
        features=np.zeros((0, 4), np.float32),
    )


def random_nodes(count: int, seed: int, kind: str = "conversation") -> EventGraph:
    """A plausible episode: sessions of about eight turns, days apart, entities by Zipf, some equal vectors."""
    rng = np.random.default_rng(seed)
    sessions = np.arange(count) // 8
    vectors = rng.standard_normal((count, 16)).astype(np.float32)
    twins = rng.integers(0, count, size=(count // 5, 2))
    vectors[twins[:, 0]] = vectors[twins[:, 1]]
    words = [tuple(f"w{min(int(n), 60)}" for n in dict.fromkeys(rng.zipf(1.4, size=5))) for _ in range(count)]
    texts = tuple(rng.choice(["Why?", "I see.", "error: not found", "Fine"]) for _ in range(count))
    dated = kind == "conversation"
    return EventGraph(
        "e",
        steps=np.arange(count, dtype=np.int64),
        texts=texts,
        contents=texts,
        speakers=tuple(rng.choice(["Ann", "Bo"]) for _ in range(count)),
        sessions=sessions.astype(np.int64) if dated else np.full(count, -1, dtype=np.int64),
        seconds=(sessions * 40_000.0 + rng.integers(0, 90_000, size=count)) if dated else np.full(count, np.nan),
        entities=tuple(words),
        refs=("",) * count,
        vectors=vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
        source=np.zeros(0, np.int32),
        target=np.zeros(0, np.int32),
        features=np.zeros((0, 4), np.float32),
    )
