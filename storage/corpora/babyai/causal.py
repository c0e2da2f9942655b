"""Causal questions: what an action changed, why it changed nothing, and what would have had to hold."""

from __future__ import annotations

import random
from collections.abc import Iterator

from storage.corpora.babyai.draft import Draft, Templates, ask, named_events, ranges, sentence, shuffled, span
from storage.corpora.babyai.trace import (
    DROP,
    FORWARD,
    LEFT,
    PICK_UP,
    RIGHT,
    TOGGLE,
    Moment,
    Thing,
    Trace,
    obstacle,
    opens,
)


def _effect_of(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for moment in shuffled(trace.moments[1:], rng):
        wordings = (
            "What did the action at step {n} change, if anything?",
            "What was the effect of the action taken at step {n}?",
            "At step {n}, what changed because of the agent's action?",
        )
        yield Draft(ask(wordings, rng, n=moment.step), _effect(moment), (moment.step,))


def _effect(moment: Moment) -> str:
    if moment.obstacle:
        return f"Nothing. {moment.obstacle}"
    if moment.event is not None:
        return f"The agent {moment.event.words}."
    if moment.action in (LEFT, RIGHT):
        return f"The agent turned to face {moment.facing}."
    return f"The agent moved one tile {moment.facing}."


def _why_no_effect(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for moment in shuffled(trace.moments, rng):
        if moment.obstacle:
            wordings = (
                "Why did the action at step {n} have no effect?",
                "Why did '{action}' at step {n} change nothing?",
                "At step {n} the agent tried to {action}. Why did it fail?",
            )
            yield Draft(ask(wordings, rng, n=moment.step, action=moment.action), moment.obstacle, (moment.step,))


def _would_it_work(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    """Toggling a box is not asked: no episode shows what it does."""
    for moment in shuffled(trace.moments[:-1], rng):
        boxed = moment.front.thing is not None and moment.front.thing.kind == "box"
        action = rng.choice((FORWARD, PICK_UP, DROP) if boxed else (FORWARD, PICK_UP, DROP, TOGGLE))
        wordings = (
            "If the agent had chosen '{action}' right after step {n}, would it have changed anything, and why?",
            "Right after step {n}, could '{action}' have had an effect? Explain.",
        )
        yield Draft(ask(wordings, rng, n=moment.step, action=action), _prospect(action, moment), (moment.step,))


def _prospect(action: str, moment: Moment) -> str:
    """What `action` would do in this state, by the simulator's rules."""
    why_not = obstacle(action, moment.front, moment.carrying)
    if why_not:
        return f"No. {why_not}"
    if action == TOGGLE:
        return f"Yes. It would {_toggling(moment)}."
    return {
        FORWARD: f"Yes. The way was free: {moment.front.phrase} in front.",
        PICK_UP: f"Yes. In front of the agent was {moment.front.phrase} and its hands were empty.",
        DROP: f"Yes. The agent was carrying {moment.load} and the tile in front was free.",
    }[action]


def _toggling(moment: Moment) -> str:
    thing = moment.front.thing
    assert thing is not None, "only doors can be toggled"
    verb = {"open": "close", "closed": "open", "locked": "unlock and open"}[moment.front.state]
    return f"{verb} the {thing.label}"


def _cause_between(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    """Ranges in which exactly one door, or exactly one thing carried, changes."""
    for first, last in ranges(trace, rng, 4, 12):
        for of_door, what in ((True, "the state of a door"), (False, "what the agent carries")):
            events = [(step, event) for step, event in trace.events(first, last) if event.of_door == of_door]
            if len(events) == 1:
                wordings = (
                    "{span}, which action changed {what}, at which step and how?",
                    "Which action changed {what} {span}? Give the step and the change.",
                )
                step, event = events[0]
                answer = f"'{trace.moments[step].action}' at step {step}: the agent {event.words}."
                yield Draft(ask(wordings, rng, span=span(first, last, rng), what=what), answer, (step,))


def _needed_for_locked(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for moment in shuffled(trace.moments, rng):
        door = moment.front.thing
        if door is not None and moment.front.state == "locked":
            wordings = (
                "After step {n} the agent faced a door. What still had to hold before 'toggle' could open it?",
                "What was missing after step {n} to open the door in front of the agent with 'toggle'?",
            )
            key = f"The agent had to carry a {door.color} key, since the door was locked."
            answer = f"Nothing more: it carried the {door.color} key." if opens(moment.carrying, door) else key
            yield Draft(ask(wordings, rng, n=moment.step), answer, (moment.step,))


def _opened_by(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for door, events in shuffled(named_events(trace, "opened", "unlocked").items(), rng):
        wordings = (
            "Which action opened {door} for the first time, and at which step?",
            "What caused {door} to open first, and when?",
        )
        step = events[0][0]
        yield Draft(ask(wordings, rng, door=door.name), f"'{trace.moments[step].action}' at step {step}.", (step,))


def _unlocked_because(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for door, events in shuffled(named_events(trace, "unlocked").items(), rng):
        step = events[0][0]
        key = trace.moments[step].carrying
        assert key is not None, "only a key in hand unlocks"
        taken = _taken_before(trace, key, step)
        wordings = ("What made it possible to unlock {door}?", "Why was the agent able to unlock {door}?")
        answer = f"It carried the {key.label}, picked up at step {taken}."
        yield Draft(ask(wordings, rng, door=door.name), answer, (taken, step))


def _taken_before(trace: Trace, thing: Thing, step: int) -> int:
    """The step at which a thing that is carried at `step` was picked up."""
    return max(at for at, event in trace.history(thing) if event.kind == "picked up" and at <= step)


def _mission_completed_by(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for moment in shuffled(trace.moments, rng):
        mission = trace.missions[moment.mission - 1]
        if moment.outcome == "completed" and trace.missions.count(mission) == 1:
            wordings = (
                'Which action completed the mission "{mission}", and at which step?',
                'By which action, and when, did the agent fulfil "{mission}"?',
            )
            answer = f"'{moment.action}' at step {moment.step}."
            yield Draft(ask(wordings, rng, mission=mission), sentence(answer), (moment.step,))


CAUSAL = Templates(
    stepwise=(_effect_of, _why_no_effect, _would_it_work, _cause_between, _needed_for_locked),
    global_=(_opened_by, _unlocked_because, _mission_completed_by),
)
