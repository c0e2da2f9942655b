"""The digest's first line: which turns it shows, what the episode is about, and what happened in outline."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from models.extract.pieces import one_line, reports_trouble
from storage.structures.render import DIALOGUE, StepRow

_VERB = re.compile(r"[^\W\d][\w.-]*")
_FEW_ACTIONS = 12
"""Up to so many different actions (moves of a game) are named in full, otherwise by their first word (`execute_bash`)."""


def header(task: str, rows: Sequence[StepRow], shown: Sequence[int], max_chars: int) -> str:
    """The line `memory_summary: key_turns=...; key_objective=...; key_events=...` of at most about `max_chars`."""
    turns = one_line(ranges(shown), max_chars // 3)
    objective = one_line(task or _speakers(rows), max_chars // 3)
    left = max_chars - len(turns) - len(objective) - 80
    events = _sessions(rows) if rows[0].action == DIALOGUE else _actions(rows)
    return f"memory_summary: key_turns={turns}; key_objective={objective}; key_events={one_line(events, max(left, 0))}"


def ranges(labels: Iterable[int]) -> str:
    """`0-4, 7` for ascending labels 0, 1, 2, 3, 4, 7."""
    runs: list[tuple[int, int]] = []
    for label in labels:
        if runs and label == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], label)
        else:
            runs.append((label, label))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _speakers(rows: Sequence[StepRow]) -> str:
    names = dict.fromkeys(row.speaker for row in rows if row.speaker)
    return f"conversation of {' and '.join(names)}" if names else "not stated"


def _sessions(rows: Sequence[StepRow]) -> str:
    sessions: dict[int | None, list[StepRow]] = {}
    for row in rows:
        sessions.setdefault(row.session, []).append(row)
    parts = []
    for session, turns in sessions.items():
        when = f" on {turns[0].timestamp:%d %B %Y}" if turns[0].timestamp else ""
        parts.append(f"session {session}{when} (turns {turns[0].step}-{turns[-1].step})")
    return "; ".join(parts)


def _actions(rows: Sequence[StepRow]) -> str:
    few = len({row.action for row in rows}) <= _FEW_ACTIONS
    kinds: dict[str, list[int]] = {}
    for row in rows:
        verb = _VERB.search(row.action[:200])
        kinds.setdefault(one_line(row.action, 40) if few or not verb else verb.group(), []).append(row.step)
    parts = [f"{kind or 'no action'} x{len(steps)} ({ranges(steps)})" for kind, steps in kinds.items()]
    errors = [row.step for row in rows if reports_trouble(row.observation[:2_000])]
    return "; ".join([f"errors at {ranges(errors)}"] * bool(errors) + parts)
