"""The long-context baseline: the trajectory itself, its most recent steps where it is too long (MESA, Appendix B.1)."""

from __future__ import annotations

from collections.abc import Sequence

from models.compose import ComposeConfig, Section
from models.prompts.answer import TRAJECTORY
from models.tokens import count_tokens
from storage.structures.base import Evidence
from storage.structures.render import StepRow, render_step

_WHOLE = 1 << 62

_AROUND = 1_024
"""Tokens left for the question, the instructions and the markers."""


def trajectory_section(rows: Sequence[StepRow], config: ComposeConfig) -> Section:
    """The most recent steps of an episode that fit the window beside any task text and question.

    Whole steps are kept, newest first, and a marker says how many older ones are left out. Only a last step that alone is
    too long is cut inside.
    """
    room = config.context_window - config.answer_tokens - config.reserve_tokens - config.task_tokens - _AROUND
    blocks: list[str] = []
    total = 0
    for row in reversed(rows):
        block = render_step(row, max_chars=_WHOLE)
        n_tokens = count_tokens([block])[0] + 2
        if not blocks and n_tokens > room:  # a token has a character at least, so this much of both fields fits
            block = render_step(row, max_chars=max(room, 0) // 2)
            n_tokens = count_tokens([block])[0] + 2
        if total + n_tokens > room:
            blocks.append(f"[... {len(rows) - len(blocks)} earlier steps left out ...]")
            break
        blocks.append(block)
        total += n_tokens
    evidence = Evidence(tuple(reversed(blocks)))
    return Section(TRAJECTORY, evidence.text, evidence.block_starts, count_tokens([evidence.text])[0])
