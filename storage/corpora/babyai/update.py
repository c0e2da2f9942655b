"""Update questions: the newest state of a door, an object, the hands or the agent, and the changes that led to it."""

from __future__ import annotations

import random
from collections.abc import Iterator

from storage.corpora.babyai.draft import Draft, Templates, ask, log, named_events, ranges, sentence, shuffled, span
from storage.corpora.babyai.trace import Event, Trace

MAX_CHANGES = 6
"""A list of more changes than this is no short answer."""

DOOR_KINDS = ("opened", "closed", "unlocked")
HAND_KINDS = ("picked up", "put down")


def _pose_change(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for first, last in ranges(trace, rng, 2, 12):
        wordings = (
            "How did the agent's place and heading differ between step {a} and step {b}?",
            "Compare step {a} with step {b}: where was the agent, and which way did it face?",
        )
        before, after = trace.moments[first].where, trace.moments[last].where
        answer = f"Unchanged: {before}" if before == after else f"Step {first}: {before}; step {last}: {after}"
        yield Draft(ask(wordings, rng, a=first, b=last), answer, (first, last))


def _door_after(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for changed, event, step in _later_steps(trace, DOOR_KINDS, rng):
        wordings = (
            "What was the state of {door} after step {n}?",
            "Was {door} open, closed or locked once step {n} was over?",
        )
        state = trace.door_state(event.thing, step)
        yield Draft(ask(wordings, rng, door=event.thing.name, n=step), sentence(state), (changed,))


def _object_after(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for changed, event, step in _later_steps(trace, HAND_KINDS, rng):
        wordings = ("Where was {thing} after step {n}?", "After step {n}, where could {thing} be found?")
        yield Draft(ask(wordings, rng, thing=event.thing.name, n=step), _whereabouts(event), (changed,))


def _later_steps(trace: Trace, kinds: tuple[str, ...], rng: random.Random) -> Iterator[tuple[int, Event, int]]:
    """(step of a change, the change, a later step before the next change of the same thing)."""
    spells = []
    for changes in named_events(trace, *kinds).values():
        ends = [step for step, _ in changes[1:]] + [trace.last + 1]
        spells += [(step, event, end) for (step, event), end in zip(changes, ends, strict=True) if step + 1 < end]
    for step, event, end in shuffled(spells, rng):
        yield step, event, rng.randrange(step + 1, end)


def _whereabouts(event: Event) -> str:
    return "Carried by the agent" if event.kind == "picked up" else sentence(event.place)


def _inventory_between(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for first, last in ranges(trace, rng, 5, 20):
        changes = [(step, event) for step, event in trace.events(first, last) if not event.of_door]
        if 1 <= len(changes) <= MAX_CHANGES:
            wordings = (
                "What changes to the agent's inventory happened {span}?",
                "{span}, how did what the agent carries change?",
            )
            yield Draft(ask(wordings, rng, span=span(first, last, rng)), log(changes), tuple(step for step, _ in changes))


def _inventory_history(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    changes = [(step, event) for step, event in trace.events() if not event.of_door]
    if 1 <= len(changes) <= MAX_CHANGES:
        wordings = (
            "What changes to the agent's inventory happened over the whole episode, and at which steps?",
            "List every change of the agent's inventory with its step.",
        )
        yield Draft(ask(wordings, rng), log(changes), tuple(step for step, _ in changes))


def _carried_at_the_end(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    wordings = ("What is the agent carrying when the episode ends?", "What does the agent hold at the very end?")
    yield Draft(ask(wordings, rng), sentence(trace.moments[-1].load), (trace.last,))


def _door_history(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for door, changes in shuffled(named_events(trace, *DOOR_KINDS).items(), rng):
        if len(changes) <= MAX_CHANGES:
            wordings = (
                "Which changes of state did {door} go through, and at which steps?",
                "How and when did the state of {door} change during the episode?",
            )
            yield Draft(ask(wordings, rng, door=door.name), log(changes), tuple(step for step, _ in changes))


def _door_at_the_end(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for door, changes in shuffled(named_events(trace, *DOOR_KINDS).items(), rng):
        wordings = (
            "In what state is {door} at the end of the episode?",
            "Is {door} open, closed or locked when the episode ends?",
        )
        state = trace.door_state(door, trace.last)
        yield Draft(ask(wordings, rng, door=door.name), sentence(state), (changes[-1][0],))


def _object_at_the_end(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for thing, changes in shuffled(named_events(trace, *HAND_KINDS).items(), rng):
        wordings = ("Where is {thing} at the end of the episode?", "Where did {thing} end up?")
        step, event = changes[-1]
        yield Draft(ask(wordings, rng, thing=thing.name), _whereabouts(event), (step,))


UPDATE = Templates(
    stepwise=(_pose_change, _door_after, _object_after, _inventory_between),
    global_=(_inventory_history, _carried_at_the_end, _door_history, _door_at_the_end, _object_at_the_end),
)
