"""Work that needs several rounds with a language model, written without knowing who calls it and who pays.

An `Asking` is a generator: it yields the requests of a round, is sent their completions, and returns its result. It is pure:
all that it knows of a model is what it is sent, so equal completions give equal results and a journal can replay it.

    def summarise(rows):
        completions = yield [request(row) for row in rows]
        return [completion.text for completion in completions]

    run_together([summarise(a), summarise(b)], lambda requests, owners: chat.complete(requests))
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from models.llm.chat import ChatRequest, Completion

T = TypeVar("T")

Asking = Generator[Sequence[ChatRequest], Sequence[Completion], T]
"""Yields requests, is sent one completion for each in order, returns a `T`."""

Complete = Callable[[Sequence[ChatRequest], Sequence[int]], Sequence[Completion]]
"""Answers requests in order; `owners[i]` is the position of the asking that made request i."""


def run_together(askings: Sequence[Asking[T]], complete: Complete) -> list[T]:
    """The results of many askings, in order. The requests of a round go out in one call, so that a server sees them at once.

    An asking whose rounds are over waits for nobody; a round without any request calls nothing.
    """
    results: dict[int, T] = {}
    waiting: dict[int, Sequence[ChatRequest]] = {}

    def go_on(position: int, completions: Sequence[Completion] | None) -> None:
        try:
            asking = askings[position]
            waiting[position] = next(asking) if completions is None else asking.send(completions)
        except StopIteration as stopped:
            results[position] = stopped.value

    for position in range(len(askings)):
        go_on(position, None)
    while waiting:
        round_of, waiting = waiting, {}
        requests = [request for asked in round_of.values() for request in asked]
        owners = [position for position, asked in round_of.items() for _ in asked]
        replies = list(complete(requests, owners)) if requests else []
        at = 0
        for position, asked in round_of.items():
            go_on(position, replies[at : at + len(asked)])
            at += len(asked)
    return [results[position] for position in range(len(askings))]


def run_alone(asking: Asking[T], complete: Callable[[ChatRequest], Completion]) -> T:
    """The result of one asking, its requests answered one after the other."""
    (result,) = run_together([asking], lambda requests, _: [complete(request) for request in requests])
    return result
