"""How a step is written as text, everywhere: in windows, in evidence, for the encoder.

Step 12:
Action: click [96]
Observation: Tab 0 (current): Dashboard

[D1:3] 2023-05-08 13:56 (session 1) Caroline: I went to a support group yesterday.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from storage.tables import by_episode

DIALOGUE = "dialogue"
"""The action of every conversation turn."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A row of the steps table as structures use it; `timestamp` is aware (UTC) or None."""

    step: int
    action: str
    observation: str
    speaker: str | None
    session: int | None
    timestamp: datetime | None
    ref: str | None


_COLUMNS = ("step", "action", "observation", "speaker", "session", "timestamp", "ref")


def step_rows(steps: pa.Table) -> list[StepRow]:
    """The rows of one episode, in table order (ascending label)."""
    return [StepRow(*values) for values in zip(*(steps.column(c).to_pylist() for c in _COLUMNS), strict=True)]


def steps_by_episode(steps: pa.Table) -> dict[str, list[StepRow]]:
    """Every episode's rows."""
    return {episode_id: step_rows(rows) for episode_id, rows in by_episode(steps)}


def cut(text: str, max_chars: int) -> str:
    """`text`, or its first `max_chars` characters with a marker that says how many were left out."""
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]} [... {len(text) - max_chars:,} more characters]"


_CUT = re.compile(r"\[\.\.\. [\d,]+ more characters\]$", re.MULTILINE)


def shows_cut(text: str) -> bool:
    """Whether a text holds the marker of `cut` at the end of a line."""
    return "[... " in text and _CUT.search(text) is not None


def render_step(row: StepRow, max_chars: int) -> str:
    """One step as text. Action and observation are each cut at `max_chars` characters (FACTS.md section 0)."""
    if row.action == DIALOGUE:
        ref = f"[{row.ref}]" if row.ref else f"[turn {row.step}]"
        date = f" {row.timestamp:%Y-%m-%d %H:%M}" if row.timestamp else ""
        session = f" (session {row.session})" if row.session is not None else ""
        return f"{ref}{date}{session} {row.speaker or 'speaker'}: {cut(row.observation, max_chars)}"
    return f"Step {row.step}:\nAction: {cut(row.action, max_chars)}\nObservation: {cut(row.observation, max_chars)}"
