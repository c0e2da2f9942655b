"""Train, validation and test parts of a data set, by whole episodes: 2:2:6 and every part covers what it can (MESA, 5.1).

Questions of one episode share its evidence, so a split never divides an episode. Sizes: n/5 rounded half up for train and
for validation, at least 1 each, the rest is test: 208 episodes give 42/42/124, 163 give 33/33/97, LoCoMo's 10 give 2/2/6.
The paper gives no rounding rule; this one keeps train and validation equal.

A split is drawn at random but not blindly:

1. Coverage. Every domain, task type and capability, the rarest first, is given to train, validation and test in this order,
   as long as episodes have it and the part has room. What stays uncovered is reported, never hidden.
2. Stratification. Each other episode goes where its (domain, task type) lacks most to its share.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

Part = Literal["train", "validation", "test"]
PARTS: tuple[Part, ...] = ("train", "validation", "test")
SPLITS = 5
"""The paper repeats every experiment over five random splits; their seeds are 0 to 4."""

Trait = tuple[str, str]
"""What a part should cover, such as ("task_type", "alfworld")."""


@dataclass(frozen=True, slots=True)
class EpisodeInfo:
    """What a split needs to know about an episode. `capabilities` are those of its questions."""

    episode_id: str
    domain: str
    task_type: str
    capabilities: tuple[str, ...]

    @property
    def stratum(self) -> tuple[str, str]:
        return self.domain, self.task_type

    @property
    def traits(self) -> frozenset[Trait]:
        capabilities = (("capability", name) for name in self.capabilities)
        return frozenset([("domain", self.domain), ("task_type", self.task_type), *capabilities])


@dataclass(frozen=True, slots=True, order=True)
class Uncovered:
    """A part without an episode of some domain, task type or capability that the data set has."""

    part: Part
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Split:
    """Sorted episode ids of the three parts: disjoint, and together the whole data set."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]
    uncovered: tuple[Uncovered, ...] = ()


def split_sizes(n: int) -> tuple[int, int, int]:
    """Episodes in train, validation and test out of `n`: 2:2:6, n/5 rounded half up, none of the first two empty."""
    fifth = max(1, (2 * n + 5) // 10)
    train = min(fifth, n)
    validation = min(fifth, n - train)
    return train, validation, n - train - validation


def make_splits(episodes: Sequence[EpisodeInfo], count: int = SPLITS) -> tuple[Split, ...]:
    """The splits with seeds 0 to `count` - 1."""
    return tuple(make_split(episodes, seed) for seed in range(count))


def make_split(episodes: Sequence[EpisodeInfo], seed: int) -> Split:
    """Divide the episodes of one data set; the result depends on them and the seed, not on their order.

    ValueError without episodes, or when an id comes twice.
    """
    _check(episodes)
    rng = random.Random(f"2:2:6/{seed}")
    shuffled = sorted(episodes, key=lambda episode: episode.episode_id)
    rng.shuffle(shuffled)
    draw = _Draw(shuffled)
    draw.cover()
    draw.fill()
    return draw.split()


def episode_of(question_id: str) -> str:
    """The episode of a question id `dataset/episode_id/index`. ValueError for any other text."""
    dataset, _, rest = question_id.partition("/")
    episode, _, index = rest.rpartition("/")
    if not dataset or not episode or not index.isdecimal():
        raise ValueError(f"{question_id!r} is no question id; expected dataset/episode_id/index")
    return episode


def questions_of(question_ids: Sequence[str], episode_ids: Collection[str]) -> tuple[str, ...]:
    """The questions about some episodes, in the order given: how a part of a split becomes rows of outcomes."""
    wanted = frozenset(episode_ids)
    return tuple(question for question in question_ids if episode_of(question) in wanted)


@dataclass
class _Draw:
    """A split being made. `waiting` are episodes without a part, in random order."""

    episodes: Sequence[EpisodeInfo]
    parts: dict[Part, list[EpisodeInfo]] = field(default_factory=lambda: {part: [] for part in PARTS})

    def __post_init__(self) -> None:
        self.size: dict[Part, int] = dict(zip(PARTS, split_sizes(len(self.episodes)), strict=True))
        self.waiting = list(self.episodes)
        self.rarity = Counter(trait for episode in self.episodes for trait in episode.traits)

    def cover(self) -> None:
        """Rarest trait first: while its few episodes are free, nothing more common can have used them up."""
        for trait in sorted(self.rarity, key=lambda trait: (self.rarity[trait], trait)):
            for part in PARTS:
                self._give(part, trait)

    def fill(self) -> None:
        """Each waiting episode goes to the part that lacks most of its stratum; ties to the part with most room left."""
        strata = Counter(episode.stratum for episode in self.episodes)
        placed = Counter((part, episode.stratum) for part in PARTS for episode in self.parts[part])
        for episode in self.waiting:

            def need(part: Part, stratum: tuple[str, str] = episode.stratum) -> tuple[float, float]:
                share = strata[stratum] * self.size[part] / len(self.episodes)
                return share - placed[part, stratum], self._room(part) / self.size[part]

            part = max((part for part in PARTS if self._room(part)), key=need)
            self.parts[part].append(episode)
            placed[part, episode.stratum] += 1
        self.waiting = []

    def split(self) -> Split:
        train, validation, test = (tuple(sorted(e.episode_id for e in self.parts[part])) for part in PARTS)
        return Split(train, validation, test, self._uncovered())

    def _give(self, part: Part, trait: Trait) -> None:
        """Give `part` a waiting episode with `trait` if it has none; of several, one that covers most else it lacks."""
        covered = self._covered(part)
        if trait in covered or not self._room(part):
            return
        having = [episode for episode in self.waiting if trait in episode.traits]
        if having:
            chosen = max(having, key=lambda episode: len(episode.traits - covered))
            self.waiting.remove(chosen)
            self.parts[part].append(chosen)

    def _room(self, part: Part) -> int:
        return self.size[part] - len(self.parts[part])

    def _covered(self, part: Part) -> frozenset[Trait]:
        return frozenset().union(*(episode.traits for episode in self.parts[part]))

    def _uncovered(self) -> tuple[Uncovered, ...]:
        gaps = ((part, trait) for part in PARTS for trait in sorted(self.rarity.keys() - self._covered(part)))
        return tuple(Uncovered(part, kind, value) for part, (kind, value) in gaps)


def _check(episodes: Sequence[EpisodeInfo]) -> None:
    if not episodes:
        raise ValueError("no episodes to split: ingest a data set first")
    counts = Counter(episode.episode_id for episode in episodes)
    repeated = sorted(name for name, count in counts.items() if count > 1)
    if repeated:
        raise ValueError(f"episode {repeated[0]!r} comes {counts[repeated[0]]} times: give each episode once")
