"""The prompt that turns one step into a structured event (HAGE, Appendix C.1, which describes it and prints no text).

It asks for what the paper names: salient entities, topic, temporal cues, relationships and concise factual summaries.

    {"summary": "Caroline went to a support group.", "entities": ["Caroline", "LGBTQ support group"],
     "topic": "community", "dates": ["yesterday"], "facts": ["Caroline attended a support group on 7 May 2023."]}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from models.prompts.fence import NOTE, fenced
from models.prompts.json_reply import json_object

VERSION = 1

_LISTS = ("entities", "dates", "facts")
_STRINGS = {"type": "array", "items": {"type": "string"}}

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "entities": _STRINGS,
        "topic": {"type": "string"},
        "dates": _STRINGS,
        "facts": _STRINGS,
    },
    "required": ["summary", "entities", "topic", "dates", "facts"],
    "additionalProperties": False,
}
REMINDER = "Reply with nothing but one JSON object with these keys."

_OPENING = """You turn one step of an agent's trajectory, or one turn of a conversation, into a memory unit of an event graph.
Reply with JSON only, with these keys:
- "summary": one sentence that says what happened, with full names instead of pronouns.
- "entities": the people, places, organisations, objects, files, tables, functions and pages it is about, as they are written.
- "topic": one to three words.
- "dates": every mention of a date or time, as it is written.
- "facts": up to five short sentences, each a fact or a relationship that the step states. Copy numbers, identifiers and error messages verbatim.
Say only what the step says. Use the language of the step. Leave a list empty where there is nothing to list."""  # noqa: E501
_BEFORE = "The step before it, for context only:"
_STEP = "The step:"


class Event(NamedTuple):
    """What a model says about one step."""

    summary: str
    entities: tuple[str, ...]
    topic: str
    dates: tuple[str, ...]
    facts: tuple[str, ...]


def digest() -> str:
    """Names this prompt in cache keys (16 hex digits): it changes with the version and with every word of the text."""
    parts = json.dumps([VERSION, _OPENING, _BEFORE, _STEP, NOTE, REMINDER, dict(SCHEMA)])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def render(step: str, before: str = "") -> str:
    """The prompt, what never varies first. `before` is the end of the step before; empty leaves it out."""
    context = f"{_BEFORE}\n{fenced(before)}" if before.strip() else ""
    return "\n\n".join(part for part in (_OPENING, NOTE, context, f"{_STEP}\n{fenced(step)}") if part)


def parse(reply: str) -> Event | None:
    """The event of a reply; None without a JSON object that has a summary in words and a list of entities.

    Other keys may be missing. What is not text is left out of the lists.
    """
    value = json_object(reply, ("summary", "entities"))
    if value is None or not isinstance(value["summary"], str) or not isinstance(value["entities"], list):
        return None
    summary, topic = _line(value["summary"]), value.get("topic")
    if not summary:
        return None
    entities, dates, facts = (_texts(value.get(name)) for name in _LISTS)
    return Event(summary, entities, _line(topic) if isinstance(topic, str) else "", dates, facts)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    lines = (_line(item) for item in value if isinstance(item, str))
    return tuple(dict.fromkeys(line for line in lines if line))


def _line(text: str) -> str:
    return " ".join(text.split())
