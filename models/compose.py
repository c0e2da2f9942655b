"""Joins the evidence of the selected structures into one prompt that fits the answer model's window.

Question and instructions always stay. An over-long task text is cut first, then each section to its cap, and if the total
is still too long the room is shared by `KEEP_ORDER`: every section gets a floor, then each in turn what it still needs.
Cuts fall at block borders and leave a visible marker; only a block that is alone too long is cut inside.

Where everything fits, which is the rule, the evidence is not tokenised: its counts come with the sections.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from models.prompts import answer as prompt
from models.tokens import count_tokens, truncate
from storage.structures.base import BLOCK_SEPARATOR

KEEP_ORDER = ("T", "S", "G", "V", "H", "R", prompt.TRAJECTORY)
"""Who keeps its text when the window is too small, first to last: the steps that the question names, then the summary (the
best single structure of MESA, Table 3) and the graph (the smallest), then what was retrieved by similarity; the raw windows
are the longest and repeat most of the others."""

PREFIX_ORDER = ("S", "R", "V", "T", "H", "G", prompt.TRAJECTORY)
"""The largest and most shared section first: the summary is the same for every question of an episode, and a section at
place i stands behind 2^i different beginnings in a sweep, so large ones belong in front."""

TASK = "task"
"""Stands in `Composed.truncated` for a task text that was cut."""


class PromptTooLongError(ValueError):
    """The question alone does not fit the window."""


@dataclass(frozen=True, slots=True)
class Section:
    """The evidence of one structure as the evidence table holds it.

    `block_starts` are the character offsets where a block begins (empty: one block). `n_tokens` is the count of `text`.
    """

    structure: str
    text: str
    block_starts: Sequence[int]
    n_tokens: int

    @property
    def blocks(self) -> list[str]:
        starts = sorted({0, *self.block_starts})
        ends = [*starts[1:], len(self.text)]
        return [self.text[a:b].removesuffix(BLOCK_SEPARATOR) for a, b in zip(starts, ends, strict=True)]


@dataclass(frozen=True, slots=True)
class ComposeConfig:
    """Budgets in tokens.

    `answer_tokens` are left free for the reply and `reserve_tokens` for the model's chat template and for merges across
    parts. The task text gets at most `task_tokens` and at most a quarter of the room. `floor_tokens` is what every
    selected section keeps before the rest of the room goes by `KEEP_ORDER`. `section_order` is the paper's, or `prefix`:
    what a server's prefix cache can share most stands first (`PREFIX_ORDER`).
    """

    context_window: int = 32_768
    answer_tokens: int = 1_024
    section_tokens: int = 16_000
    task_tokens: int = 4_000
    floor_tokens: int = 512
    reserve_tokens: int = 128
    section_order: Literal["paper", "prefix"] = "paper"

    @property
    def order(self) -> tuple[str, ...]:
        """Structure letters in the order of their sections."""
        return tuple(prompt.HEADINGS) if self.section_order == "paper" else PREFIX_ORDER

    def shrunk(self, factor: float) -> ComposeConfig:
        """The same budgets for a window of `factor` times the size, for a server that counts more tokens than we do."""
        return replace(self, context_window=int(self.context_window * factor))


@dataclass(frozen=True, slots=True)
class Composed:
    """A prompt and what went into it.

    `evidence` are the sections after cutting and `evidence_tokens` their sum. `prompt_tokens` is counted part by part, so
    it may differ from the count in one go by a few tokens. `truncated` names the cut sections (letters) and `TASK`.
    """

    prompt: str
    evidence: tuple[Section, ...]
    evidence_tokens: int
    prompt_tokens: int
    truncated: tuple[str, ...]


def compose(
    question: str, task: str, sections: Sequence[Section], config: ComposeConfig, *, abstain: bool = False
) -> Composed:
    """The prompt for a question with the evidence of the selected structures, in the order that the settings say.

    Deterministic. Raises `PromptTooLongError` when the question does not fit, and `ValueError` for an unknown structure.
    """
    chosen = _in_order(sections, config.order)
    fixed = _n_tokens(prompt.render(question, "", (), abstain=abstain))
    room = config.context_window - config.answer_tokens - config.reserve_tokens - fixed
    if room < 0:
        raise PromptTooLongError(
            f"question and instructions take {fixed:,} tokens, too many for a window of {config.context_window:,} with "
            f"{config.answer_tokens:,} kept for the answer: shorten the question or use a model with a larger window"
        )
    shown_task = _cut_task(task, min(config.task_tokens, room // 4))
    task_tokens = _n_tokens(shown_task) + _HEADING_TOKENS if shown_task else 0
    evidence = _fit(chosen, room - task_tokens, config)
    evidence_tokens = sum(section.n_tokens for section in evidence)
    return Composed(
        prompt=prompt.render(question, shown_task, [(s.structure, s.text) for s in evidence], abstain=abstain),
        evidence=tuple(evidence),
        evidence_tokens=evidence_tokens,
        prompt_tokens=fixed + task_tokens + evidence_tokens + _HEADING_TOKENS * len(evidence),
        truncated=((TASK,) if shown_task != task else ()) + _changed(chosen, evidence),
    )


_HEADING_TOKENS = 20
"""An upper bound for a heading and the blank lines around a section (the longest, T's, counts 16 with them)."""


@functools.lru_cache(maxsize=4_096)
def _n_tokens(text: str) -> int:
    """Counts of task texts and questions, which come back with every subset of a sweep."""
    return count_tokens([text])[0]


def _in_order(sections: Sequence[Section], order: Sequence[str]) -> list[Section]:
    letters = [section.structure for section in sections]
    unknown = sorted(set(letters) - set(order))
    if unknown:
        raise ValueError(f"no heading for structure {', '.join(unknown)}: known are {', '.join(order)}")
    if len(set(letters)) < len(letters):
        raise ValueError(f"a structure stands twice in {'+'.join(letters)}")
    return sorted((s for s in sections if s.text.strip()), key=lambda s: order.index(s.structure))


def _cut_task(task: str, max_tokens: int) -> str:
    if not task.strip():
        return ""
    return task if _n_tokens(task) <= max_tokens else _cut_inside(task, max_tokens)


def _fit(sections: Sequence[Section], room: int, config: ComposeConfig) -> list[Section]:
    """The sections, cut where they must be, with their headings within `room` tokens; what has no room is left out."""
    wanted = {s.structure: min(s.n_tokens, _cap(s.structure, config)) for s in sections}
    allowed = _share(wanted, room - _HEADING_TOKENS * len(sections), config.floor_tokens)
    kept = (cut_section(section, allowed[section.structure]) for section in sections)
    return [section for section in kept if section.text]


def _cap(structure: str, config: ComposeConfig) -> int:
    """A structure may not crowd out the others; the trajectory has no others beside it."""
    return config.context_window if structure == prompt.TRAJECTORY else config.section_tokens


def _share(wanted: Mapping[str, int], room: int, floor: int) -> dict[str, int]:
    """Tokens for each section, at most what it wants, in all at most `room`."""
    if sum(wanted.values()) <= room:
        return dict(wanted)
    floor = min(floor, max(room, 0) // len(wanted))
    allowed = {letter: min(n, floor) for letter, n in wanted.items()}
    left = room - sum(allowed.values())
    for letter in sorted(wanted, key=KEEP_ORDER.index):
        more = max(0, min(wanted[letter] - allowed[letter], left))
        allowed[letter] += more
        left -= more
    return allowed


def _changed(before: Sequence[Section], after: Sequence[Section]) -> tuple[str, ...]:
    shown = {section.structure: section.text for section in after}
    return tuple(section.structure for section in before if shown.get(section.structure) != section.text)


def cut_section(section: Section, max_tokens: int) -> Section:
    """`section` within `max_tokens`: its first whole blocks and a marker that says how many were left out.

    A first block that alone is too long is cut inside. Where not even a marker fits, the text is empty.
    """
    if section.n_tokens <= max_tokens:
        return section
    text = _whole_blocks(section.blocks, max_tokens) or _part_of_first(section.blocks, max_tokens)
    return replace(section, text=text, block_starts=(), n_tokens=_count(text))


def _whole_blocks(blocks: Sequence[str], max_tokens: int) -> str:
    for n in range(_n_that_fit(blocks, max_tokens), 0, -1):  # more than one turn where joined blocks exceed their sum
        text = BLOCK_SEPARATOR.join(blocks[:n]) + _left_out(len(blocks) - n)
        if _count(text) <= max_tokens:
            return text
    return ""


def _n_that_fit(blocks: Sequence[str], max_tokens: int) -> int:
    """How many of the first blocks fit by the sum of their counts, with separators and a marker."""
    separator = _count(BLOCK_SEPARATOR)
    total = _count(_left_out(len(blocks)))
    for i, block in enumerate(blocks):
        total += separator + _count(block)
        if total > max_tokens:
            return i
    return len(blocks)


def _part_of_first(blocks: Sequence[str], max_tokens: int) -> str:
    marker = _left_out(len(blocks) - 1)
    head = _cut_inside(blocks[0], max_tokens - _count(marker) - 1)
    text = head + marker if head else ""
    return text if _count(text) <= max_tokens else ""


def _left_out(n_blocks: int) -> str:
    if not n_blocks:
        return ""
    return f"{BLOCK_SEPARATOR}[... {n_blocks:,} more block{'' if n_blocks == 1 else 's'} left out ...]"


def _cut_inside(text: str, max_tokens: int) -> str:
    """The head of `text` with a marker, within `max_tokens`; empty where there is no room for both."""
    head = truncate(text, max_tokens - _count(_cut_marker(len(text))))
    while head:
        shown = head + _cut_marker(len(text) - len(head))
        if (excess := _count(shown) - max_tokens) <= 0:
            return shown
        head = head[:-excess]
    return ""


def _cut_marker(n_characters: int) -> str:
    return f" [... {n_characters:,} more characters]"


def _count(text: str) -> int:
    return count_tokens([text])[0]
