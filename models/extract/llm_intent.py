"""The intents of questions by a language model, with the rules as fallback (HAGE, section 3.3).

asking = classify_intents(["When did they meet?"], IntentConfig())   # see models/llm/asking.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from models.extract.replies import ReplyCounts, counts_of, read_replies
from models.llm.asking import Asking
from models.llm.chat import ChatRequest, Message
from models.prompts import intent as prompt
from storage.structures.intent import intent
from storage.structures.render import cut

STAGE = "intent"


@dataclass(frozen=True)
class IntentConfig:
    """A question is shown with at most `max_chars` characters."""

    max_chars: int = 2_000
    reply_tokens: int = 32
    seed: int = 0


class Intents(NamedTuple):
    """A word of `events.INTENTS` per question, in order, and how the replies were."""

    words: list[str]
    counts: ReplyCounts


def request(question: str, config: IntentConfig) -> ChatRequest:
    """What is asked about one question: its text and nothing else of it."""
    text = prompt.render(cut(question, config.max_chars))
    return ChatRequest((Message("user", text),), max_tokens=config.reply_tokens, seed=config.seed, schema=prompt.SCHEMA)


def classify_intents(questions: Sequence[str], config: IntentConfig) -> Asking[Intents]:
    """The intent of each question. Where the reply is useless twice the rules decide, counted as `fallbacks`."""
    asked = [request(question, config) for question in questions]
    replies = yield from read_replies(asked, prompt.parse, prompt.REMINDER, STAGE)
    words = [reply.value or intent(question) for question, reply in zip(questions, replies, strict=True)]
    counts = counts_of(replies)
    return Intents(words, replace(counts, fallbacks=counts.unparsable))
