"""A question before it is chosen, and what the templates of the four capabilities share.

A template is a generator: given the trace and a random source it yields every question it can ask about this episode,
in random order. So a quota is filled by taking from the front, and "no candidate" is an empty generator.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from storage.corpora.babyai.trace import Event, Thing, Trace

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Draft:
    """A question with its gold answer and the fewest steps whose text shows that answer."""

    question: str
    answer: str
    steps: tuple[int, ...]


Template = Callable[[Trace, random.Random], Iterator[Draft]]


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates of one capability: those that name a step or a range in the question, and those that do not.

    The first of `stepwise` must have at least as many questions as the episode has steps, less one, whatever happened:
    it makes sure that the quota can always be filled.
    """

    stepwise: tuple[Template, ...]
    global_: tuple[Template, ...]


def shuffled(items: Iterable[T], rng: random.Random) -> list[T]:
    """The items in random order."""
    items = list(items)
    rng.shuffle(items)
    return items


def ranges(trace: Trace, rng: random.Random, shortest: int, longest: int) -> Iterator[tuple[int, int]]:
    """Random (first, last) step pairs, `shortest` to `longest` steps long, one for every possible first step."""
    for first in shuffled(range(trace.last + 2 - shortest), rng):
        yield first, min(first + rng.randint(shortest, longest) - 1, trace.last)


def span(first: int, last: int, rng: random.Random) -> str:
    """`between step 5 and step 9` in several wordings; both ends belong to it."""
    wordings = ("between step {} and step {}", "from step {} to step {}", "in steps {}-{}", "in steps {} to {}")
    return rng.choice(wordings).format(first, last)


def ask(wordings: Sequence[str], rng: random.Random, **fields: object) -> str:
    """One of the wordings with its fields filled in, starting with a capital letter."""
    text = rng.choice(wordings).format(**fields)
    return text[0].upper() + text[1:]


def sentence(text: str) -> str:
    """`text` with a capital letter."""
    return text[:1].upper() + text[1:]


def log(events: Iterable[tuple[int, Event]]) -> str:
    """`Step 5: picked up the red key; step 9: put down the red key`."""
    return sentence("; ".join(f"step {step}: {event.words}" for step, event in events))


def named_events(trace: Trace, *kinds: str) -> dict[Thing, list[tuple[int, Event]]]:
    """The events of these kinds by thing, for the things that a question can name."""
    found: dict[Thing, list[tuple[int, Event]]] = {}
    for step, event in trace.events():
        if event.kind in kinds and event.thing.can_be_named:
            found.setdefault(event.thing, []).append((step, event))
    return found
