"""The named constants of a policy family: how each is drawn, how it is changed, and which values are in bounds.

Constants stand at the top of a policy's source, so that the archive needs no other memory of them: exploitation reads them
back from the best source, changes one or two, and renders the family again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

METADATA = ("domain", "task_type", "capability")
"""What a context says of a question besides its previews."""

QUESTION_FEATURES = ("cue", "named", "words", "length")
PREVIEW_FEATURES = ("size", "score", "shown", "match", "state")
"""Features of a structure's preview, written `size:S`; `pieces.FEATURES` says what each means."""


class Constant(Protocol):
    """One constant. Values are JSON-like. `comment` ends its line in the source."""

    @property
    def name(self) -> str: ...

    @property
    def comment(self) -> str: ...

    def draw(self, rng: random.Random, letters: Sequence[str]) -> Any:
        """A fresh value."""
        ...

    def change(self, value: Any, rng: random.Random, letters: Sequence[str]) -> Any:
        """A different value near `value`, which is in bounds."""
        ...

    def accepts(self, value: Any, letters: Sequence[str]) -> bool:
        """Whether the value is in bounds, whatever source it was read from."""
        ...


@dataclass(frozen=True, slots=True)
class Real:
    """A number in [low, high], written with two digits; so are the bounds."""

    name: str
    low: float
    high: float
    comment: str

    def draw(self, rng: random.Random, letters: Sequence[str]) -> float:
        return _two_digits(rng.uniform(self.low, self.high))

    def change(self, value: float, rng: random.Random, letters: Sequence[str]) -> float:
        span = self.high - self.low
        for _ in range(20):
            near = _two_digits(min(self.high, max(self.low, rng.gauss(value, 0.15 * span))))
            if near != value:
                return near
        return self.high if value != self.high else self.low

    def accepts(self, value: Any, letters: Sequence[str]) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of at least two options, in an order in which neighbours are alike."""

    name: str
    options: tuple[Any, ...]
    comment: str

    def draw(self, rng: random.Random, letters: Sequence[str]) -> Any:
        return rng.choice(self.options)

    def change(self, value: Any, rng: random.Random, letters: Sequence[str]) -> Any:
        at = self.options.index(value)
        return rng.choice([self.options[i] for i in (at - 1, at + 1) if 0 <= i < len(self.options)])

    def accepts(self, value: Any, letters: Sequence[str]) -> bool:
        return any(value == option and type(value) is type(option) for option in self.options)


@dataclass(frozen=True, slots=True)
class Features:
    """Names of features, coarse to fine: one of `first`, then others, `low` to `high` in all.

    `kinds` are the preview features on offer, for every structure at hand, and `others` the remaining features.
    """

    name: str
    first: tuple[str, ...]
    comment: str
    low: int = 1
    high: int = 3
    kinds: tuple[str, ...] = PREVIEW_FEATURES
    others: tuple[str, ...] = METADATA + QUESTION_FEATURES

    def draw(self, rng: random.Random, letters: Sequence[str]) -> list[str]:
        chosen = [rng.choice(self.first)]
        more = rng.randint(self.low, self.high) - 1
        while more > 0:
            chosen.append(self._another(rng, letters, chosen))
            more -= 1
        return chosen

    def change(self, value: list[str], rng: random.Random, letters: Sequence[str]) -> list[str]:
        """One feature more, one fewer, or one replaced; the first stays one of `first`."""
        moves = ["add"] * (len(value) < self.high) + ["drop"] * (len(value) > self.low) + ["replace"] * (len(value) > 1)
        move = rng.choice(moves or ["first"])
        if move == "first":
            return [rng.choice([name for name in self.first if name != value[0]] or [value[0]]), *value[1:]]
        if move == "add":
            return [*value, self._another(rng, letters, value)]
        at = rng.randrange(1, len(value))
        new = [self._another(rng, letters, value)] if move == "replace" else []
        return [*value[:at], *new, *value[at + 1 :]]

    def accepts(self, value: Any, letters: Sequence[str]) -> bool:
        if not isinstance(value, list) or not self.low <= len(value) <= self.high or len(set(map(str, value))) < len(value):
            return False
        return value[0] in self.first and all(name in self._pool(letters) or name in self.first for name in value)

    def _another(self, rng: random.Random, letters: Sequence[str], chosen: Sequence[str]) -> str:
        """A feature of a kind that is drawn first, so that many structures do not crowd out the rest."""
        kind = rng.choice([name for name in (*self.others, *self.kinds) if name not in chosen])
        if kind not in self.kinds:
            return kind
        left = [f"{kind}:{letter}" for letter in letters if f"{kind}:{letter}" not in chosen]
        return rng.choice(left) if left else self._another(rng, letters, chosen)

    def _pool(self, letters: Sequence[str]) -> set[str]:
        return {*self.others, *(f"{kind}:{letter}" for kind in self.kinds for letter in letters)}


@dataclass(frozen=True, slots=True)
class Groupings:
    """Several different lists of features, each as `features` draws them."""

    name: str
    features: Features
    comment: str
    low: int = 3
    high: int = 5

    def draw(self, rng: random.Random, letters: Sequence[str]) -> list[list[str]]:
        chosen: list[list[str]] = []
        for _ in range(rng.randint(self.low, self.high)):
            chosen.append(self._another(rng, letters, chosen))
        return chosen

    def change(self, value: list[list[str]], rng: random.Random, letters: Sequence[str]) -> list[list[str]]:
        """One grouping replaced by a new one or by a neighbour of it."""
        at = rng.randrange(len(value))
        near = self.features.change(value[at], rng, letters)
        new = near if near not in value and rng.random() < 0.5 else self._another(rng, letters, value)
        return [*value[:at], new, *value[at + 1 :]]

    def accepts(self, value: Any, letters: Sequence[str]) -> bool:
        if not isinstance(value, list) or not self.low <= len(value) <= self.high:
            return False
        return all(self.features.accepts(one, letters) for one in value)

    def _another(self, rng: random.Random, letters: Sequence[str], chosen: Sequence[list[str]]) -> list[str]:
        while True:
            new = self.features.draw(rng, letters)
            if new not in chosen:
                return new
