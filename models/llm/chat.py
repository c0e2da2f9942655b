"""The `Chat` protocol: what every language model backend promises.

A call takes a batch of requests and returns one completion per request, in order. Trouble with one request is a completion
whose status says so, never an exception that loses the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Status = Literal["ok", "error", "overflow"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One prompt. `schema` asks for JSON of that JSON schema; `max_tokens` bounds the completion."""

    messages: tuple[Message, ...]
    max_tokens: int = 1024
    temperature: float = 0.0
    seed: int = 0
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply. Think-blocks are already stripped from `text`.

    `overflow` means that the prompt does not fit the model's context window: the caller shrinks the evidence, a retry would
    not help. `error` carries the reason in `error`. Token counts are what the server reports, 0 where it reports nothing.
    """

    text: str
    status: Status = "ok"
    error: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    finish_reason: str = ""


OnDone = Callable[[int, Completion], None]


class Chat(Protocol):
    """A language model. `name` identifies backend and model in every table and cache key."""

    @property
    def name(self) -> str: ...

    @property
    def context_window(self) -> int:
        """Tokens of prompt and completion together."""
        ...

    def complete(self, requests: Sequence[ChatRequest], on_done: OnDone | None = None) -> list[Completion]:
        """Answer every request; `on_done(index, completion)` is called as each arrives, so that it can be journalled."""
        ...
