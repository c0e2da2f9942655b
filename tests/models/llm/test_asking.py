"""Askings run in rounds: what many of them ask for at once goes out in one call."""

from __future__ import annotations

from collections.abc import Sequence

from models.llm.asking import Asking, run_alone, run_together
from models.llm.chat import ChatRequest, Completion, Message


def ask(text: str) -> ChatRequest:
    return ChatRequest((Message("user", text),))


def counting(name: str, n_rounds: int) -> Asking[str]:
    said: list[str] = []
    for i in range(n_rounds):
        completions = yield [ask(f"{name}{i}a"), ask(f"{name}{i}b")]
        said.extend(completion.text for completion in completions)
    return " ".join(said)


def echo(request: ChatRequest) -> Completion:
    return Completion(request.messages[0].content.upper())


def test_every_asking_gets_its_own_replies_in_order() -> None:
    rounds: list[list[tuple[str, int]]] = []

    def complete(requests: Sequence[ChatRequest], owners: Sequence[int]) -> list[Completion]:
        rounds.append([(request.messages[0].content, owner) for request, owner in zip(requests, owners, strict=True)])
        return [echo(request) for request in requests]

    assert run_together([counting("x", 2), counting("y", 0), counting("z", 1)], complete) == [
        "X0A X0B X1A X1B",
        "",
        "Z0A Z0B",
    ]
    assert rounds == [[("x0a", 0), ("x0b", 0), ("z0a", 2), ("z0b", 2)], [("x1a", 0), ("x1b", 0)]]


def test_a_round_without_requests_calls_nobody() -> None:
    def silent() -> Asking[int]:
        completions = yield []
        return len(completions)

    def complete(requests: Sequence[ChatRequest], owners: Sequence[int]) -> list[Completion]:
        raise AssertionError("called without a request")

    assert run_together([silent()], complete) == [0]


def test_one_asking_alone_is_answered_request_by_request() -> None:
    assert run_alone(counting("q", 1), echo) == "Q0A Q0B"
