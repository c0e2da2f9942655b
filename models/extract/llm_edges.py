"""Scores of the edges of an event graph by a language model: four relations in one reply, kept by edge (HAGE, Eq. 6).

    asking = score_edges(graph, EdgesConfig())   # see models/llm/asking.py

Rows follow `event_table.EDGES`: an edge is known by the labels of its steps, never by a question, so a score is paid for
once. An edge without a usable reply gets no row, and the graph keeps the rules' features there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from models.extract.replies import ReplyCounts, counts_of, read_replies
from models.llm.asking import Asking
from models.llm.chat import ChatRequest, Message
from models.prompts import edges as prompt
from storage.structures.events import RELATIONS, EventGraph

STAGE = "edges"


@dataclass(frozen=True)
class EdgesConfig:
    """Each event is shown with at most `max_chars` characters of its content (the public code's number)."""

    max_chars: int = 500
    reply_tokens: int = 96
    seed: int = 0


class EdgeScores(NamedTuple):
    """Rows of `event_table.EDGES` without `episode_id`, sorted by (source, target), and how the replies were."""

    rows: list[dict[str, object]]
    counts: ReplyCounts


def request(graph: EventGraph, source: int, target: int, config: EdgesConfig) -> ChatRequest:
    """What is asked about the edge between two positions of `graph`."""
    shown = (graph.contents[at][: config.max_chars] for at in (source, target))
    first, second = shown
    text = prompt.render(int(graph.steps[source]), first, int(graph.steps[target]), second)
    return ChatRequest((Message("user", text),), max_tokens=config.reply_tokens, seed=config.seed, schema=prompt.SCHEMA)


def score_edges(graph: EventGraph, config: EdgesConfig) -> Asking[EdgeScores]:
    """The scores of every edge of one linked episode. An edge whose reply is useless twice is counted as `dropped`."""
    ends = list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    asked = [request(graph, source, target, config) for source, target in ends]
    replies = yield from read_replies(asked, prompt.parse, prompt.REMINDER, STAGE)
    rows: list[dict[str, object]] = []
    for (source, target), reply in zip(ends, replies, strict=True):
        if reply.value is not None:
            labels = {"source": int(graph.steps[source]), "target": int(graph.steps[target])}
            rows.append({**labels, **dict(zip(RELATIONS, reply.value, strict=True))})
    counts = counts_of(replies)
    return EdgeScores(rows, replace(counts, dropped=counts.unparsable))
