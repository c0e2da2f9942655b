"""Abstraction questions: counts and summaries over many steps."""

from __future__ import annotations

import random
from collections.abc import Iterator

from storage.corpora.babyai.draft import Draft, Templates, ask, ranges, shuffled, span
from storage.corpora.babyai.trace import ACTIONS, Trace


def _action_count_until(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    """The last action before the bound is counted at least once, so that there is evidence."""
    for moment in shuffled(trace.moments[1:], rng):
        wordings = (
            "How many times was '{action}' performed until step {n}, that step included?",
            "Up to and including step {n}, how often did the agent perform '{action}'?",
        )
        steps = _performed(trace, moment.action, moment.step)
        yield Draft(ask(wordings, rng, n=moment.step, action=moment.action), _times(len(steps)), steps)


def _failures_between(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for first, last in ranges(trace, rng, 8, 25):
        steps = tuple(m.step for m in trace.moments[first : last + 1] if m.obstacle)
        if steps:
            wordings = ("How many actions {span} had no effect?", "{span}, how many of the agent's actions changed nothing?")
            yield Draft(ask(wordings, rng, span=span(first, last, rng)), str(len(steps)), steps)


def _rooms_until(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    entered = _rooms(trace)
    for moment in shuffled(trace.moments[1:], rng):
        rooms = {room: step for room, step in entered.items() if step <= moment.step}
        if len(rooms) > 1:
            wordings = (
                "Which rooms had the agent been in until step {n}, in order of the first visit?",
                "List the rooms that the agent visited up to step {n}, in order of the first visit.",
            )
            yield Draft(ask(wordings, rng, n=moment.step), _list(rooms), tuple(rooms.values()))


def _rooms_visited(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    rooms = _rooms(trace)
    if len(rooms) > 1:
        wordings = (
            "How many different rooms did the agent visit in the whole episode?",
            "In how many different rooms was the agent during the episode?",
        )
        yield Draft(ask(wordings, rng), f"{len(rooms)}: {_list(rooms)}", tuple(rooms.values()))


def _kinds_picked_up(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    """Kinds, not objects: two red balls cannot be told apart in a log."""
    taken: dict[str, int] = {}
    for step, event in trace.events():
        if event.kind == "picked up":
            taken.setdefault(event.thing.label, step)
    if taken:
        wordings = (
            "How many different kinds of object (colour and type) did the agent pick up in the whole episode, and which?",
            "Summarise the kinds of object (colour and type) that the agent picked up, with their number.",
        )
        yield Draft(ask(wordings, rng), f"{len(taken)}: {', '.join(taken)}", tuple(taken.values()))


def _missions_completed(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    steps = tuple(m.step for m in trace.moments if m.outcome == "completed")
    if steps:
        wordings = ("How many missions did the agent complete in total?", "How many of its missions did the agent fulfil?")
        yield Draft(ask(wordings, rng), str(len(steps)), steps)


def _doors_opened(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    steps = tuple(step for step, event in trace.events() if event.kind in ("opened", "unlocked"))
    if steps:
        wordings = ("How many times did the agent open a door, in total?", "How often was a door opened during the episode?")
        yield Draft(ask(wordings, rng), _times(len(steps)), steps)


def _action_count(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for action in shuffled(ACTIONS, rng):
        steps = _performed(trace, action, trace.last)
        if steps:
            wordings = (
                "How many times was '{action}' performed in the whole episode?",
                "How often in all was the action '{action}' taken?",
            )
            yield Draft(ask(wordings, rng, action=action), _times(len(steps)), steps)


def _performed(trace: Trace, action: str, last: int) -> tuple[int, ...]:
    """The steps up to `last` at which `action` was performed, with or without effect."""
    return tuple(m.step for m in trace.moments[: last + 1] if m.action == action)


def _rooms(trace: Trace) -> dict[str, int]:
    """The rooms the agent was in, each with the step of its first visit, in that order; passages are no rooms."""
    rooms: dict[str, int] = {}
    for moment in trace.moments:
        if moment.place.startswith("room "):
            rooms.setdefault(moment.place.removeprefix("room "), moment.step)
    return rooms


def _list(rooms: dict[str, int]) -> str:
    return ", ".join(rooms)


def _times(count: int) -> str:
    return "Once" if count == 1 else f"{count} times"


ABSTRACTION = Templates(
    stepwise=(_action_count_until, _failures_between, _rooms_until),
    global_=(_rooms_visited, _kinds_picked_up, _missions_completed, _doors_opened, _action_count),
)
