"""The summary by a language model: one per segment of whole steps that fits the construction window (MESA, A.1 and C.1).

    asking = summarise(task, rows, SummaryConfig())   # see models/llm/asking.py

Partial summaries are made independently and stay rows of their own; structure S reads them in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from models.extract.digest import digest
from models.extract.packing import pack
from models.extract.replies import Read, ReplyCounts, counts_of, read_replies
from models.llm.asking import Asking
from models.llm.chat import ChatRequest, Message
from models.prompts import summary as prompt
from models.tokens import count_tokens, truncate
from storage.structures.render import StepRow, cut, render_step

STAGE = "summary"

_SEPARATOR = "\n\n"
_STEP_OVERHEAD = 1
"""Tokens that a separator adds to a step, at most."""
_CUT = "\n[... the rest of this step is left out]"


@dataclass(frozen=True)
class SummaryConfig:
    """Sizes in tokens of the tokenizer in `models/tokens.py`, texts in characters.

    `window_tokens` bounds the steps of one prompt and `reply_tokens` its summary: the paper's session size and state budget
    (Appendix B.1, AMA-Agent, whose builder S shares). Longer steps, actions, observations and tasks are cut with a marker.
    """

    window_tokens: int = 8_192
    reply_tokens: int = 1_024
    max_step_chars: int = 8_000
    max_task_chars: int = 8_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.window_tokens < 64 or self.reply_tokens < 1:
            raise ValueError("summary: window_tokens must be at least 64 and reply_tokens at least 1")


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive steps of an episode, and how the prompt shows them."""

    rows: tuple[StepRow, ...]
    text: str


class Summary(NamedTuple):
    """Rows of `schemas.SUMMARIES` without `episode_id`, and how the replies were."""

    rows: list[dict[str, object]]
    counts: ReplyCounts


def segments(rows: Sequence[StepRow], config: SummaryConfig) -> list[Segment]:
    """Turn-aligned segments within the window, in order; none for an episode without steps."""
    texts = [render_step(row, config.max_step_chars) for row in rows]
    sizes = count_tokens(texts)
    room = config.window_tokens - _STEP_OVERHEAD
    for i, size in enumerate(sizes):
        if size > room:
            texts[i] = truncate(texts[i], room - count_tokens([_CUT])[0]) + _CUT
    groups = pack([min(size, room) + _STEP_OVERHEAD for size in sizes], config.window_tokens)
    return [Segment(tuple(rows[i] for i in group), _SEPARATOR.join(texts[i] for i in group)) for group in groups]


def request(task: str, segment: Segment, config: SummaryConfig) -> ChatRequest:
    """What is asked about one segment."""
    text = prompt.render(cut(task, config.max_task_chars), segment.text)
    return ChatRequest((Message("user", text),), max_tokens=config.reply_tokens, seed=config.seed)


def summarise(task: str, rows: Sequence[StepRow], config: SummaryConfig) -> Asking[Summary]:
    """The summary of one episode: a row per segment.

    A reply without the marker is asked for again; if that one has none either, it is kept as it is and counted as
    `unparsable`. A segment of which the model says nothing at all gets the rules' digest, counted as `fallbacks` too.
    """
    parts = segments(rows, config)
    requests = [request(task, part, config) for part in parts]
    replies = yield from read_replies(requests, prompt.parse, prompt.REMINDER, STAGE)
    made: list[dict[str, object]] = []
    fallbacks = 0
    for number, (part, reply) in enumerate(zip(parts, replies, strict=True)):
        text = _kept(reply)
        if not text:
            text, fallbacks = _digest(task, part), fallbacks + 1
        first, last = part.rows[0].step, part.rows[-1].step
        made.append({"segment": number, "first_step": first, "last_step": last, "text": text})
    return Summary(made, replace(counts_of(replies), fallbacks=fallbacks))


def _kept(reply: Read[str]) -> str:
    return reply.value if reply.value is not None else prompt.unmarked(reply.text)


def _digest(task: str, part: Segment) -> str:
    return "\n".join(str(row["text"]) for row in digest(task, part.rows))
