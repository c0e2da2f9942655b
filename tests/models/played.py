"""Plays an asking against a script: from a request to a reply. Keeps what was asked, round by round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from models.llm.asking import Asking, run_together
from models.llm.chat import ChatRequest, Completion

T = TypeVar("T")
Script = Callable[[ChatRequest], Completion | str]


@dataclass
class Played(Generic[T]):
    """The result of an asking, and the requests of each of its rounds."""

    result: T
    rounds: list[list[ChatRequest]] = field(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        """What the last message of every request said, in the order of asking."""
        return [request.messages[-1].content for asked in self.rounds for request in asked]


def play(asking: Asking[T], script: Script) -> Played[T]:
    """Run an asking; the script answers each request by itself."""
    rounds: list[list[ChatRequest]] = []

    def complete(requests: Sequence[ChatRequest], owners: Sequence[int]) -> list[Completion]:
        rounds.append(list(requests))
        said = [script(request) for request in requests]
        return [reply if isinstance(reply, Completion) else Completion(reply) for reply in said]

    (result,) = run_together([asking], complete)
    return Played(result, rounds)


def in_order(*replies: Completion | str) -> Script:
    """A script that gives these replies one after the other, and fails when it is asked for more."""
    left = list(replies)
    return lambda request: left.pop(0)


def user_text(request: ChatRequest) -> str:
    """The last thing that a request says."""
    return request.messages[-1].content
