"""Triples by a language model: two-stage open information extraction over packed passages (MESA, A.1 and C.2; HippoRAG2).

    asking = extract_triples(rows, TriplesConfig())   # see models/llm/asking.py

The first round asks for the named entities of every passage, the next for the triples about them. Replies are read with
repair (`prompts/openie.py`), and every triple is anchored afterwards at the step that shows it (`triple_anchors.py`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from models.extract.packing import pack, split
from models.extract.replies import Read, ReplyCounts, counts_of, read_replies
from models.extract.triple_anchors import Anchors
from models.llm.asking import Asking
from models.llm.chat import ChatRequest
from models.prompts import openie
from storage.structures.render import StepRow, cut, render_step

STAGE = "triples"

_SEPARATOR = "\n\n"


@dataclass(frozen=True)
class TriplesConfig:
    """Sizes in characters; the paper's numbers (Appendix C.2, B.1 for the overlap), but for `max_step_chars`.

    A passage has at most `passage_chars`. A step is split only when it alone is longer, in pieces that share
    `overlap_chars`. Actions and observations are cut at `max_step_chars` each (a few of AMA-Bench are a thousand pages), and
    the parts of a triple at `max_part_chars`.
    """

    passage_chars: int = 24_000
    overlap_chars: int = 300
    reply_tokens: int = 1_024
    max_step_chars: int = 100_000
    max_part_chars: int = 300
    max_entities: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if self.passage_chars <= self.overlap_chars + 100:
            raise ValueError("triples: passage_chars must be more than overlap_chars and a step's heading of 100 characters")


@dataclass(frozen=True, slots=True)
class Passage:
    """What one prompt shows: blocks of (step label, text), one per step. Labels are kept apart from the text, where an
    observation may hold a line `Step 3:` of its own."""

    blocks: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        return _SEPARATOR.join(text for _, text in self.blocks)


class Triples(NamedTuple):
    """Rows of `schemas.TRIPLES` without `episode_id`, in step order, and how the replies were."""

    rows: list[dict[str, object]]
    counts: ReplyCounts


def passages(rows: Sequence[StepRow], config: TriplesConfig) -> list[Passage]:
    """The episode as passages in order: whole steps packed together, a step that is too long split in pieces of its own."""
    blocks = [(row.step, render_step(row, config.max_step_chars)) for row in rows]
    groups = pack([len(text) + len(_SEPARATOR) for _, text in blocks], config.passage_chars + len(_SEPARATOR))
    found: list[Passage] = []
    for group in groups:
        members = tuple(blocks[i] for i in group)
        if len(members) == 1:
            found.extend(Passage((piece,)) for piece in _pieces(*members[0], config))
        else:
            found.append(Passage(members))
    return found


def _pieces(step: int, text: str, config: TriplesConfig) -> Iterator[tuple[int, str]]:
    """A step's text in pieces that fit a passage; a later one says which step it goes on with."""
    if len(text) <= config.passage_chars:
        yield step, text
        return
    heading = f"Step {step} (continued):\n"
    first, *later = split(text, config.passage_chars - len(heading), config.overlap_chars)
    yield step, first
    yield from ((step, heading + piece) for piece in later)


def entities_request(passage: Passage, config: TriplesConfig) -> ChatRequest:
    """The first stage for one passage."""
    messages = openie.render_entities(passage.text)
    return ChatRequest(messages, max_tokens=config.reply_tokens, seed=config.seed, schema=openie.ENTITIES_SCHEMA)


def triples_request(passage: Passage, entities: Sequence[str], config: TriplesConfig) -> ChatRequest:
    """The second stage for one passage."""
    messages = openie.render_triples(passage.text, entities[: config.max_entities])
    return ChatRequest(messages, max_tokens=config.reply_tokens, seed=config.seed, schema=openie.TRIPLES_SCHEMA)


def extract_triples(rows: Sequence[StepRow], config: TriplesConfig) -> Asking[Triples]:
    """The triples of one episode. Either stage asks once more for a reply that cannot be read.

    A passage without readable entities is asked for triples all the same; one without readable triples gives none. `counts`
    adds both stages; `salvaged` are replies of the second one that were read although they were not the JSON asked for.
    """
    parts = passages(rows, config)
    asked = [entities_request(part, config) for part in parts]
    named = yield from read_replies(asked, openie.parse_entities, openie.REMINDER, STAGE)
    asked = [triples_request(part, reply.value or (), config) for part, reply in zip(parts, named, strict=True)]
    replies = yield from read_replies(asked, openie.parse_triples, openie.REMINDER, STAGE)
    rows_made, counts = _anchored(parts, replies, config)
    return Triples(rows_made, counts + counts_of(named) + counts_of(replies))


def _anchored(
    parts: Sequence[Passage], replies: Sequence[Read[openie.Salvage]], config: TriplesConfig
) -> tuple[list[dict[str, object]], ReplyCounts]:
    """Every distinct triple with its step, in step order, those without a step last."""
    found: dict[tuple[object, ...], dict[str, object]] = {}
    counts = ReplyCounts()
    for part, reply in zip(parts, replies, strict=True):
        if reply.value is None:
            continue
        anchors = Anchors(part.blocks)
        counts += ReplyCounts(salvaged=int(reply.value.salvaged), dropped=reply.value.dropped)
        for written in reply.value.triples:
            head, relation, tail = (normalise(text, config.max_part_chars) for text in written)
            step = anchors.step_of(head, relation, tail)
            key = (step, *(text.casefold() for text in (head, relation, tail)))
            if not (head and relation and tail):
                counts += ReplyCounts(dropped=1)
            elif key in found:
                counts += ReplyCounts(duplicates=1)
            else:
                found[key] = {"step": step, "head": head, "relation": relation, "tail": tail}
    unanchored = sum(row["step"] is None for row in found.values())
    last = max((step for part in parts for step, _ in part.blocks), default=0) + 1
    ordered = sorted(found.values(), key=lambda row: last if row["step"] is None else int(str(row["step"])))
    return ordered, replace(counts, unanchored=unanchored)


_QUOTES = " \"'`“”‘’"
_MARKS = ".,;:!"


def normalise(text: str, max_chars: int) -> str:
    """A part of a triple on one line: Unicode NFC, no control characters, one space between words, no quotes around it and
    no mark behind it. Every script stays, and so do `-5`, `.gitignore` and `C++`; "" when nothing else is left.
    """
    composed = unicodedata.normalize("NFC", text)
    visible = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in composed)
    return cut(" ".join(visible.split()).strip(_QUOTES).rstrip(_MARKS).strip(_QUOTES), max_chars)
