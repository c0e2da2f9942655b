"""Which earlier events an event resembles: by its vector, and by the entities that it shares with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

_GRID = 2_048
"""Vectors are rounded to multiples of 1/2048, so that a dot product is a sum of whole numbers below 2^24: exact in float32
in any order of the terms. Cosines are then equal numbers in any block size, on any machine, and ties are real ties."""

_BLOCK = 128
"""Events whose similarities are held at once: 128 x 8,192 numbers of 8 bytes are 8 MiB."""

_FAINT = 0.01
"""The strength of a link to an event that is the most similar one, and yet not similar at all."""


class Pairs(NamedTuple):
    """Undirected pairs: positions `earlier` < `later` (M,) int64, `strength` (M,) float32 in (0, 1]. No pair twice."""

    earlier: NDArray[np.int64]
    later: NDArray[np.int64]
    strength: NDArray[np.float32]

    @classmethod
    def of(cls, strengths: Mapping[tuple[int, int], float]) -> Self:
        """From (earlier, later) to strength."""
        both = np.array(list(strengths), dtype=np.int64).reshape(-1, 2)
        return cls(both[:, 0], both[:, 1], np.array(list(strengths.values()), dtype=np.float32))

    @classmethod
    def joined(cls, parts: Iterable[Pairs]) -> Self:
        """All pairs of several rules."""
        columns = list(zip(*parts, strict=True))
        return cls(*(np.concatenate(column) for column in columns))


def semantic_pairs(vectors: NDArray[np.float32], first: int, k: int, min_cosine: float, horizon: int) -> Pairs:
    """Each event from `first` on with its `k` most similar earlier ones (ties: the latest), among the `horizon` before it.

    `min_cosine` is asked of all but the most similar one: that one is always linked, so no event stands alone.
    """
    base = max(0, first - horizon)  # nothing before it is looked at
    whole = np.rint(vectors[base:] * _GRID)
    parts = [Pairs.of({})]
    for start in range(max(first, 1), len(vectors), _BLOCK):
        stop = min(start + _BLOCK, len(vectors))
        low = max(0, start - horizon)
        dots = whole[start - base : stop - base] @ whole[low - base : stop - 1 - base].T
        later, earlier = np.arange(start, stop)[:, None], np.arange(low, stop - 1)[None, :]
        allowed = (earlier < later) & (earlier >= later - horizon)
        parts.append(_nearest(dots, later, earlier, allowed, k, min_cosine))
    return Pairs.joined(parts)


def _nearest(
    dots: NDArray[np.float32],
    later: NDArray[np.int64],
    earlier: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    k: int,
    min_cosine: float,
) -> Pairs:
    """The best `k` of each row of one block; a rank that ties are no part of: the dot product, then the position."""
    span = earlier.shape[1]
    ranks = np.where(allowed, dots.astype(np.float64) * span + np.arange(span), -np.inf)
    k = min(k, span)
    chosen = np.argpartition(ranks, span - k, axis=1)[:, span - k :]
    cosines = np.take_along_axis(dots, chosen, axis=1) / np.float32(_GRID**2)
    best = np.take_along_axis(ranks, chosen, axis=1)
    kept = np.isfinite(best) & ((cosines >= min_cosine) | (best == best.max(axis=1, keepdims=True)))
    row, column = np.nonzero(kept)
    strength = np.clip(cosines[row, column], _FAINT, 1)
    return Pairs(earlier[0, chosen[row, column]], later[row, 0], strength)


def entity_pairs(
    entities: Sequence[Sequence[str]], first: int, links: int, mentions: int, min_hub: int, hub_share: float
) -> Pairs:
    """Each event from `first` on with the `links` earlier ones that share the most telling entities with it.

    Looked at are the last `mentions` mentions of each of its entities. An entity weighs `1 / (1 + ln n)` at its n-th
    repetition, nothing when more than `hub_share` of the events so far (and more than `min_hub`) mention it. The strength is
    the sum of the weights that two events share, at most 1.
    """
    seen: dict[str, list[int]] = {}
    counts: dict[str, int] = {}
    pairs: dict[tuple[int, int], float] = {}
    for later, names in enumerate(entities):
        if later >= first:
            shared = _shared(names, seen, counts, max(min_hub, hub_share * later))
            best = sorted(shared, key=lambda earlier: (-shared[earlier], -earlier))[:links]
            pairs.update({(earlier, later): min(shared[earlier], 1.0) for earlier in best})
        for name in names:
            counts[name] = counts.get(name, 0) + 1
            seen[name] = [*seen.get(name, ())[-(mentions - 1) :], later] if mentions > 1 else [later]
    return Pairs.of(pairs)


def _shared(
    names: Iterable[str], seen: Mapping[str, Sequence[int]], counts: Mapping[str, int], hub: float
) -> dict[int, float]:
    """Earlier events by the weight of what they share with one that has the entities `names`."""
    shared: dict[int, float] = {}
    for name in names:
        if 0 < (n := counts.get(name, 0)) <= hub:
            weight = 1 / (1 + math.log(n))
            for earlier in seen[name]:
                shared[earlier] = shared.get(earlier, 0.0) + weight
    return shared
