"""Recall questions: what was done or perceived at a step, and when something first happened."""

from __future__ import annotations

import random
from collections.abc import Iterator

from storage.corpora.babyai.draft import Draft, Templates, ask, named_events, ranges, sentence, shuffled, span
from storage.corpora.babyai.trace import Thing, Trace


def _action_at(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for moment in shuffled(trace.moments, rng):
        wordings = (
            "What action did the agent take at step {n}?",
            "Which action was performed at step {n}?",
            "At step {n}, what did the agent do?",
        )
        yield Draft(ask(wordings, rng, n=moment.step), sentence(moment.action), (moment.step,))


def _actions_between(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for first, last in ranges(trace, rng, 2, 5):
        wordings = (
            "Which actions did the agent perform {span}, in order?",
            "{span}, which actions were taken one after another?",
        )
        actions = ", ".join(m.action for m in trace.moments[first : last + 1])
        yield Draft(ask(wordings, rng, span=span(first, last, rng)), sentence(actions), tuple(range(first, last + 1)))


def _carried_at(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    """Mostly steps at which something was carried: "nothing" is too easy to guess."""
    for moment in sorted(shuffled(trace.moments, rng), key=lambda m: m.carrying is None):
        wordings = ("What was the agent carrying at step {n}?", "At step {n}, what did the agent hold in its hands?")
        yield Draft(ask(wordings, rng, n=moment.step), sentence(moment.load), (moment.step,))


def _place_at(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for moment in shuffled(trace.moments, rng):
        wordings = (
            "Where was the agent after step {n}, and which way was it facing?",
            "In which place and with which heading did the agent end up at step {n}?",
        )
        yield Draft(ask(wordings, rng, n=moment.step), sentence(moment.where), (moment.step,))


def _front_at(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for moment in shuffled(trace.moments, rng):
        wordings = ("What was directly in front of the agent after step {n}?", "After step {n}, what was on the tile ahead?")
        yield Draft(ask(wordings, rng, n=moment.step), sentence(moment.front.phrase), (moment.step,))


def _door_seen_at(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for moment in shuffled(trace.moments, rng):
        for sight in moment.sights:
            if sight.state:
                wordings = (
                    "In what state did the agent see {door} at step {n}?",
                    "At step {n} {door} was in view. Was it open, closed or locked?",
                )
                question = ask(wordings, rng, n=moment.step, door=sight.thing.name)
                yield Draft(question, sentence(sight.state), (moment.step,))


def _first_picked_up(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for thing, events in shuffled(named_events(trace, "picked up").items(), rng):
        wordings = ("At which step did the agent first pick up {thing}?", "When was {thing} picked up for the first time?")
        yield _when(wordings, events[0][0], rng, thing=thing.name)


def _first_seen(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    """Things in view at step 0 are left out."""
    seen: dict[Thing, int] = {}
    for moment in trace.moments:
        for sight in moment.sights:
            seen.setdefault(sight.thing, moment.step)
    for thing, step in shuffled(seen.items(), rng):
        if step and thing.can_be_named:
            wordings = (
                "At which step did {thing} first come into view?",
                "When did the agent see {thing} for the first time?",
            )
            yield _when(wordings, step, rng, thing=thing.name)


def _mission_ended_at(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    for moment in shuffled(trace.moments, rng):
        mission = trace.missions[moment.mission - 1]
        if moment.outcome == "completed" and trace.missions.count(mission) == 1:
            wordings = ('At which step was the mission "{mission}" completed?', 'When did the agent complete "{mission}"?')
            yield _when(wordings, moment.step, rng, mission=mission)


def _room_entered_at(trace: Trace, rng: random.Random) -> Iterator[Draft]:
    entered: dict[str, int] = {}
    for moment in trace.moments:
        entered.setdefault(moment.place, moment.step)
    for place, step in shuffled(entered.items(), rng):
        if step and place.startswith("room"):
            wordings = (
                "At which step did the agent first set foot in {place}?",
                "When did the agent enter {place} for the first time?",
            )
            yield _when(wordings, step, rng, place=place)


def _when(wordings: tuple[str, ...], step: int, rng: random.Random, **fields: str) -> Draft:
    return Draft(ask(wordings, rng, **fields), f"Step {step}", (step,))


RECALL = Templates(
    stepwise=(_action_at, _actions_between, _carried_at, _place_at, _front_at, _door_seen_at),
    global_=(_first_picked_up, _first_seen, _mission_ended_at, _room_entered_at),
)
