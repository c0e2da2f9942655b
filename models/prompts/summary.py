"""The prompt that compresses a section of a trajectory into a state memory (MESA, Appendix C.1).

The words are the paper's; its line breaks, lost in print, are set again. Departures: the task and the section stand between
fences that they cannot close, with a sentence that calls them data, and `previous_state_text` is gone, since segments are
summarised independently (Appendix A.1). A reply comes after a marker:

    STATE_MEMORY
    memory_summary: key_turns=2, 5; key_objective=...; key_events=...
    turn_id: 2
    env_state:
    - action: go to sinkbasin 1
"""

from __future__ import annotations

import hashlib
import json
import re

from models.llm.storable import storable
from models.llm.thinking import strip_thinking
from models.prompts.fence import NOTE, fenced

VERSION = 1

MARKER = "STATE_MEMORY"

_OPENING = (
    "You are presented with a section of agent trajectory (actions and observations). Compress it into a state memory that "
    "future readers can use to answer detailed questions about what happened."
)
_TASK = "Task:"
_SECTION = "Trajectory Section:"
_INSTRUCTIONS = f"""Identify KEY turns – turns where state meaningfully changed, a command/query/code was executed, an important result/value/schema/error appeared, or the agent shifted sub-goal. For each key turn record an env_state block with bullet keys that BEST FIT this turn. Common keys include: action, command, query, location, inventory, schema, sql, result, finding, error, change. Use whatever keys fit; do NOT force fields that do not apply, and do NOT dump unrelated context into a "change" field.

CRITICAL – copy these VERBATIM from the trajectory; never paraphrase or summarize:
- commands, queries, code (SQL, shell, Python, function/tool calls)
- identifiers: file paths, URLs, table/column/schema names, IDs, UI element ids and selectors, entity names
- numeric values, counts, computed results, dates, response codes
- error messages

Also write a one-line Memory Summary describing the section’s overall progress.

Output everything after the marker below.

{MARKER}
memory_summary: key_turns=<turn ids>; key_objective=<main objective>; key_events=<critical events, commands, state changes, key results>
turn_id: <turn number>
env_state:
- <key>: <value>
- …
turn_id: <turn number>
env_state:
- <key>: <value>"""  # noqa: E501

REMINDER = f"Your reply must begin with a line that holds only the marker {MARKER}, and the state memory after it."
"""Added to the prompt when a reply came without the marker."""

_MARKER_LINE = re.compile(rf"^[^\w\n]*+{MARKER}[^\w\n]*+$", re.MULTILINE)


def digest() -> str:
    """Names this prompt in cache keys (16 hex digits): it changes with the version and with every word of the text."""
    parts = json.dumps([VERSION, _OPENING, _TASK, _SECTION, NOTE, _INSTRUCTIONS, REMINDER])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def render(task: str, section: str) -> str:
    """The prompt. `section` are consecutive steps as text; an empty task leaves its part out."""
    parts = [
        _OPENING,
        f"{_TASK}\n{fenced(task)}" if task.strip() else "",
        f"{_SECTION}\n{fenced(section)}",
        NOTE,
        _INSTRUCTIONS,
    ]
    return "\n\n".join(part for part in parts if part)


def parse(reply: str) -> str | None:
    """What follows the first line that holds only the marker; None without marker or with nothing after it.

    The marker on a later line goes: the reader of a summary would take it for the beginning. Talk that quotes the marker
    inside a line is no marker.
    """
    text = unmarked(reply)
    marker = _MARKER_LINE.search(text)
    if marker is None:
        return None
    memory = _MARKER_LINE.sub("", text[marker.end() :]).strip().removesuffix("```").rstrip()
    return memory or None


def unmarked(reply: str) -> str:
    """A reply as it is, without thoughts and without characters that cannot be stored."""
    return storable(strip_thinking(reply))
