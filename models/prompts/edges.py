"""The prompt that scores one edge of an event graph: how strongly each relation holds between two events (HAGE, Eq. 6).

No question is in it: a score belongs to an edge, and is paid for once. The paper prints no text.

    {"temporal": 0.9, "semantic": 0.3, "causal": 0.7, "entity": 1.0}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from models.prompts.fence import NOTE, fenced
from models.prompts.json_reply import json_object
from storage.structures.events import RELATIONS

VERSION = 1

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "number", "minimum": 0, "maximum": 1} for name in RELATIONS},
    "required": list(RELATIONS),
    "additionalProperties": False,
}
REMINDER = "Reply with nothing but one JSON object with these four numbers, each from 0 to 1."

_MEANINGS: Mapping[str, str] = {
    "temporal": "the second event follows or precedes the first closely in time, or continues it",
    "semantic": "both are about the same topic or mean similar things",
    "causal": "the first event causes, enables, answers or explains the second",
    "entity": "both involve the same person, place or thing",
}
_OPENING = "You judge how strongly each of four relations holds from a first event to a second one of the same history."
_SCALE = "Score each from 0 (does not hold) to 1 (holds fully)."
_REPLY = 'Reply with JSON only, such as {"temporal": 0.5, "semantic": 0.0, "causal": 0.25, "entity": 1.0}.'
_FIRST = "First event"
_SECOND = "Second event"


def digest() -> str:
    """Names this prompt in cache keys (16 hex digits): it changes with the version and with every word of the text."""
    parts = json.dumps([VERSION, _OPENING, dict(_MEANINGS), _SCALE, _REPLY, NOTE, _FIRST, _SECOND, REMINDER, dict(SCHEMA)])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def render(source_step: int, source: str, target_step: int, target: str) -> str:
    """The prompt for the edge from `source` to `target`, what edges of one source share first."""
    meanings = "\n".join(f"- {name}: {_MEANINGS[name]}" for name in RELATIONS)
    parts = [
        _OPENING,
        f"{meanings}\n{_SCALE}",
        _REPLY,
        NOTE,
        f"{_FIRST} (step {source_step}):\n{fenced(source)}",
        f"{_SECOND} (step {target_step}):\n{fenced(target)}",
    ]
    return "\n\n".join(parts)


def parse(reply: str) -> tuple[float, ...] | None:
    """The four scores in the order of `RELATIONS`; None unless all are there and each is a number in [0, 1]."""
    value = json_object(reply, RELATIONS)
    scores = [] if value is None else [value[name] for name in RELATIONS]
    return tuple(float(score) for score in scores) if scores and all(map(_is_score, scores)) else None


def _is_score(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
