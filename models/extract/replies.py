"""What extractors share when they ask a language model: one more try for an unusable reply, and counts of what went wrong.

A model that was reached and said something useless is data: it is counted, and the extractor has a fallback. A request that
failed is not: `DerivationError` ends the derivation, whose finished replies are in the journal, so that a later run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Generic, TypeVar

from models.llm.asking import Asking
from models.llm.chat import ChatRequest, Completion, Message
from models.llm.openai_format import EMPTY_REPLY

T = TypeVar("T")


class DerivationError(RuntimeError):
    """A request of a derivation that failed. The message says how many did, why, and what to do."""


@dataclass(frozen=True, slots=True)
class ReplyCounts:
    """How the replies of a derivation were. `requests` counts first tries.

    `retried` were asked a second time, `unparsable` useless then too, `salvaged` usable in part; `dropped` pieces of replies
    were invalid, empty or outside of the episode, `duplicates` said before, `unanchored` found at no step. `fallbacks` are
    results that a rule made in the model's place.
    """

    requests: int = 0
    retried: int = 0
    unparsable: int = 0
    salvaged: int = 0
    dropped: int = 0
    duplicates: int = 0
    unanchored: int = 0
    fallbacks: int = 0

    def __add__(self, other: ReplyCounts) -> ReplyCounts:
        return ReplyCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """A reply as read; `value` is None when neither try could be. `text` is the last reply that was not empty."""

    value: T | None
    text: str
    retried: bool = False


def read_replies(
    requests: Sequence[ChatRequest], read: Callable[[str], T | None], reminder: str, stage: str
) -> Asking[list[Read[T]]]:
    """One `Read` per request, in order. A reply that `read` makes nothing of is asked for once more, with `reminder`.

    `DerivationError` names `stage` when a request failed or was too long for the model.
    """
    first = _texts((yield requests), stage)
    found = [Read(read(text), text) for text in first]
    again = [i for i, reply in enumerate(found) if reply.value is None]
    if again:
        second = _texts((yield [reminded(requests[i], reminder) for i in again]), stage)
        for i, text in zip(again, second, strict=True):
            found[i] = Read(read(text), text or first[i], retried=True)
    return found


def counts_of(replies: Sequence[Read[T]]) -> ReplyCounts:
    """How many were asked for, asked for again, and useless then too."""
    unparsable = sum(reply.value is None for reply in replies)
    return ReplyCounts(len(replies), sum(reply.retried for reply in replies), unparsable)


def reminded(request: ChatRequest, reminder: str) -> ChatRequest:
    """The request for a second try: another seed, and a reminder after everything that a server may have cached."""
    *before, last = request.messages
    asked = Message(last.role, f"{last.content}\n\n{reminder}")
    return replace(request, messages=(*before, asked), seed=request.seed + 1)


def _texts(completions: Sequence[Completion], stage: str) -> list[str]:
    """The replies' texts, "" for a model that said nothing."""
    failed = [c for c in completions if c.status != "ok" and not is_empty(c)]
    if not failed:
        return ["" if is_empty(c) else c.text for c in completions]
    worst = next((c for c in failed if c.status == "overflow"), failed[0])
    if worst.status == "overflow":
        advice = f"a prompt is longer than the model's context window: set smaller sizes for {stage}"
    else:
        advice = "run the command again: finished replies are kept"
    reason = worst.error or worst.status
    raise DerivationError(f"{stage}: {len(failed)} of {len(completions)} requests failed ({reason}); {advice}")


def is_empty(completion: Completion) -> bool:
    """Whether the model was reached and had nothing to say (or only thoughts)."""
    said_nothing = completion.status == "ok" and not completion.text.strip()
    return said_nothing or (completion.status == "error" and completion.error.startswith(EMPTY_REPLY))
