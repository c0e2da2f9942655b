"""The long-context baseline: the trajectory itself, its most recent steps where it is too long (MESA, Appendix B.1)."""

from __future__ import annotations

from collections.abc import Sequence

from models.compose import ComposeConfig, Section, cut_section
from models.prompts.answer import TRAJECTORY
from models.tokens import count_tokens
from storage.structures.base import Evidence
from storage.structures.render import StepRow, render_step

_WHOLE = 1 << 62

_AROUND = 1_024
"""Tokens left for the question, the instructions and the markers."""

_SMALLEST_PART = 256
"""Where fewer tokens are left, a step that does not fit is left out rather than cut: its head would say too little."""


def trajectory_section(rows: Sequence[StepRow], config: ComposeConfig) -> Section:
    """The most recent steps of an episode that fit the window beside any task text and question.

    Whole steps are kept, newest first. The first one that does not fit is cut inside, so that one huge observation does not
    leave the window empty, and a marker says how many older ones are left out.
    """
    room = config.context_window - config.answer_tokens - config.reserve_tokens - config.task_tokens - _AROUND
    blocks: list[str] = []
    left = max(room, 0)
    for row in reversed(rows):
        block = render_step(row, max_chars=_WHOLE)
        n_tokens = count_tokens([block])[0] + 2
        if n_tokens > left:
            part = cut_section(Section(TRAJECTORY, block, (), n_tokens), left).text
            if part and (left >= _SMALLEST_PART or not blocks):
                blocks.append(part)
            if older := len(rows) - len(blocks):
                blocks.append(f"[... {older} earlier steps left out ...]")
            break
        blocks.append(block)
        left -= n_tokens
    evidence = Evidence(tuple(reversed(blocks)))
    return Section(TRAJECTORY, evidence.text, evidence.block_starts, count_tokens([evidence.text])[0])
