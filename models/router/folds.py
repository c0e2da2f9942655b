"""Cross-validation by conversation: every episode is tested once, and train, validation and test never share one.

The paper's five folds with 20 % validation and a 10 % test set "strictly reserved" cannot test ten conversations once each
(FACTS.md, trap 36). Five folds of 6/2/2 do: fold f tests the f-th fifth of the episodes, validates on the next fifth and
trains on the rest.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Fold:
    """Sorted episode ids of three disjoint parts that together are the data set."""

    index: int
    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]


def make_folds(episode_ids: Iterable[str], seed: int = 0, count: int = FOLDS) -> tuple[Fold, ...]:
    """`count` folds; they depend on the ids and the seed, not on their order.

    Parts differ by at most one episode in size when `count` does not divide their number. `ValueError` when an id comes
    twice or there are fewer episodes than folds, and for fewer than three folds.
    """
    ids = sorted(episode_ids)
    if len(set(ids)) < len(ids):
        raise ValueError("an episode comes twice: a fold would train on what it tests")
    if count < 3:
        raise ValueError(f"{count} folds leave nothing to train on: train, validation and test each need one part")
    if len(ids) < count:
        raise ValueError(f"{len(ids)} episodes cannot make {count} folds: ingest more, or ask for fewer folds")
    random.Random(f"router folds/{seed}").shuffle(ids)
    parts = [ids[start::count] for start in range(count)]
    return tuple(_fold(index, parts) for index in range(count))


def _fold(index: int, parts: list[list[str]]) -> Fold:
    count = len(parts)
    test, validation = parts[index], parts[(index + 1) % count]
    train = [name for offset in range(2, count) for name in parts[(index + offset) % count]]
    return Fold(index, tuple(sorted(train)), tuple(sorted(validation)), tuple(sorted(test)))
