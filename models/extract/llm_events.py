"""Events by a language model: what the rules make of a step, with the model's summary, facts and entities (HAGE, C.1).

    asking = extract_events(rows, LlmEventsConfig())   # see models/llm/asking.py

One request per step. It shows the step and a little of the one before, never a later one: a new step changes no event of an
old one, and no old one is paid for again. (The public code shows the next turn too.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from models.extract.events import EventsConfig, content_of, events
from models.extract.pieces import one_line
from models.extract.replies import ReplyCounts, counts_of, read_replies
from models.llm.asking import Asking
from models.llm.chat import ChatRequest, Message
from models.prompts import events as prompt
from storage.structures.event_table import EventRow
from storage.structures.render import StepRow, render_step

STAGE = "events"


@dataclass(frozen=True)
class LlmEventsConfig:
    """Sizes in characters.

    `rules` are those of the events without a model: for the fallback, and for what an event's content keeps of its step. Of
    the step before, the last `before_chars` are shown (the public code's number).
    """

    rules: EventsConfig = field(default_factory=EventsConfig)
    max_step_chars: int = 4_000
    before_chars: int = 100
    max_facts: int = 5
    max_line_chars: int = 300
    reply_tokens: int = 512
    seed: int = 0


class Events(NamedTuple):
    """One event per step, in order, and how the replies were."""

    rows: list[EventRow]
    counts: ReplyCounts


def request(row: StepRow, before: StepRow | None, config: LlmEventsConfig) -> ChatRequest:
    """What is asked about one step."""
    context = "" if before is None else render_step(before, config.max_step_chars)[-config.before_chars :]
    text = prompt.render(render_step(row, config.max_step_chars), context)
    return ChatRequest((Message("user", text),), max_tokens=config.reply_tokens, seed=config.seed, schema=prompt.SCHEMA)


def extract_events(rows: Sequence[StepRow], config: LlmEventsConfig) -> Asking[Events]:
    """The events of one episode. A step whose reply is useless twice gets the event of the rules, counted as `fallbacks`."""
    asked = [request(row, rows[i - 1] if i else None, config) for i, row in enumerate(rows)]
    replies = yield from read_replies(asked, prompt.parse, prompt.REMINDER, STAGE)
    by_rule = events(rows, config.rules)
    made = [
        rule if reply.value is None else _event(row, reply.value, rule, config)
        for row, reply, rule in zip(rows, replies, by_rule, strict=True)
    ]
    counts = counts_of(replies)
    return Events(made, replace(counts, fallbacks=counts.unparsable))


def _event(row: StepRow, said: prompt.Event, rule: EventRow, config: LlmEventsConfig) -> EventRow:
    """Summary, the step itself, then facts: an encoder that reads the first words only has read the telling ones."""
    lines = [said.summary, *said.facts[: config.max_facts]]
    summary, *facts = (one_line(line, config.max_line_chars) for line in lines)
    content = "\n".join((summary, content_of(row, config.rules), *facts))
    names = dict.fromkeys(name.casefold() for name in said.entities)
    return EventRow(row.step, content, tuple(names)[: config.rules.max_entities] or rule.entities)
