"""Subsets of structures, written in the fixed order `S+T+G+V+R+H`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

ORDER = "STGVRH"
SEPARATOR = "+"


def subset_name(letters: Iterable[str]) -> str:
    """The one spelling of a subset: fixed order, no repeats. ValueError for an unknown letter or an empty set."""
    chosen = set(letters)
    if not chosen or not chosen <= set(ORDER):
        raise ValueError(f"not a subset of structures: {sorted(chosen)}; the structures are {', '.join(ORDER)}")
    return SEPARATOR.join(letter for letter in ORDER if letter in chosen)


def parse_subset(text: str) -> tuple[str, ...]:
    """Letters of a subset written as `S+T`, `T,S` or `t+s`. ValueError says what is wrong."""
    letters = [part.strip().upper() for part in text.replace(",", SEPARATOR).split(SEPARATOR)]
    return tuple(subset_name(letters).split(SEPARATOR))


def all_subsets(letters: Sequence[str]) -> list[str]:
    """Every non-empty subset of K structures, 2^K - 1 names, small ones first (MESA, Eq. 2)."""
    ordered = [letter for letter in ORDER if letter in letters]
    return [subset_name(chosen) for size in range(1, len(ordered) + 1) for chosen in combinations(ordered, size)]
