"""Cutting an episode into segments of whole steps."""

from __future__ import annotations

from collections.abc import Sequence

from storage.structures.render import StepRow, render_step


def segment_steps(rows: Sequence[StepRow], window_chars: int, max_step_chars: int) -> list[list[StepRow]]:
    """Consecutive groups of whole steps whose rendered text fits `window_chars` (MESA, Appendix A.1, Summary).

    One group when everything fits; none when there is no step. A step that alone is longer than the window stands by
    itself. Actions and observations count as cut at `max_step_chars` characters.
    """
    groups: list[list[StepRow]] = []
    used = 0
    for row in rows:
        size = len(render_step(row, max_step_chars)) + 1
        if not groups or used + size > window_chars:
            groups.append([])
            used = 0
        groups[-1].append(row)
        used += size
    return groups
