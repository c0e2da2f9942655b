"""Policies that need no learning: a fixed subset, all structures, a random subset, or the whole trajectory.

A policy maps a question to the name of what is read for it: a subset such as `S+T`, or `LONG_CONTEXT`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from models.selector.subsets import all_subsets, parse_subset, subset_name

LONG_CONTEXT = "long-context"
"""Reads the trajectory itself, its most recent end where the window is too small (MESA, Appendix B.1)."""


class Policy(Protocol):
    """`name` identifies the policy in tables and cache keys; `select` is deterministic."""

    @property
    def name(self) -> str: ...

    def select(self, question_id: str) -> str: ...


@dataclass(frozen=True)
class FixedPolicy:
    """The same subset (or `LONG_CONTEXT`) for every question."""

    subset: str
    name: str

    def select(self, question_id: str) -> str:
        return self.subset


@dataclass(frozen=True)
class RandomPolicy:
    """A uniformly drawn non-empty subset for each question; the draw depends on the seed and the question only."""

    letters: tuple[str, ...]
    seed: int

    @property
    def name(self) -> str:
        return "random" if self.seed == 0 else f"random-{self.seed}"

    def select(self, question_id: str) -> str:
        return random.Random(f"{self.seed}/{question_id}").choice(all_subsets(self.letters))


def parse_policy(text: str, letters: Sequence[str], seed: int) -> Policy:
    """The policy that a user names: a subset such as `S+T`, `all`, `random` or `long-context`.

    `letters` are the structures at hand. ValueError says what is wrong and what is known.
    """
    word = text.strip().lower()
    if word == "all":
        return FixedPolicy(subset_name(letters), "all")
    if word == "random":
        return RandomPolicy(tuple(letters), seed)
    if word == LONG_CONTEXT:
        return FixedPolicy(LONG_CONTEXT, LONG_CONTEXT)
    try:
        chosen = parse_subset(text)
    except ValueError as error:
        raise ValueError(f"policy {text!r}: {error}; other policies are all, random, {LONG_CONTEXT}") from error
    missing = [letter for letter in chosen if letter not in letters]
    if missing:
        raise ValueError(f"policy {text!r} needs structure {', '.join(missing)}; built are {', '.join(letters)}")
    return FixedPolicy(subset_name(chosen), subset_name(chosen))
