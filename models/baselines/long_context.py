"""The long-context baseline: the trajectory itself, its most recent end where it is too long (MESA, Appendix B.1)."""

from __future__ import annotations

from collections.abc import Sequence

from models.compose import Section
from models.prompts.answer import TRAJECTORY
from models.tokens import count_tokens
from storage.structures.base import Evidence
from storage.structures.render import StepRow, render_step


def trajectory_section(rows: Sequence[StepRow], max_tokens: int) -> Section:
    """The last steps of an episode as one section: as many as `max_tokens` hold, and one more for the composer to cut.

    Nothing is cut inside a step here; the composer fits the section to the window from its end.
    """
    blocks: list[str] = []
    total = 0
    for row in reversed(rows):
        if total > max_tokens:
            break
        # A token has at least one character, so a longer block than this cannot be shown whole anyway.
        block = render_step(row, max_chars=max_tokens * 16)
        blocks.append(block)
        total += count_tokens([block])[0]
    evidence = Evidence(tuple(reversed(blocks)))
    return Section(TRAJECTORY, evidence.text, evidence.block_starts, total, keep_end=True)
