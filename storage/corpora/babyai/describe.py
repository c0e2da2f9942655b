"""The observation of a step as text: what the agent perceives *after* the action of that step.

    You walk one tile to the north. You are in room A2 (column 1, row 3), facing north. Directly in front of you is a
    closed red door between rooms A1 and A2. Also in view: a grey key, 2 tiles ahead and 1 to the left. Your hands are empty.

AMA-Bench's BabyAI logs show the view before the action and never say what is carried; both are mended here. A reason
for an action without effect is never spelt out: it follows from the tile in front, the doors and the hands.
"""

from __future__ import annotations

import random

from storage.corpora.babyai.trace import (
    DROP,
    FORWARD,
    LEFT,
    LOOK,
    PICK_UP,
    RIGHT,
    TOGGLE,
    Moment,
    Sight,
    Trace,
)

_WORKED = {
    LOOK: ("You take a look around.", "You stop and survey the place.", "You look around before doing anything."),
    LEFT: ("You turn to the left.", "You rotate left by a quarter turn.", "A quarter turn to the left."),
    RIGHT: ("You turn to the right.", "You rotate right by a quarter turn.", "A quarter turn to the right."),
    FORWARD: ("You walk one tile to the {facing}.", "You take a step {facing}.", "You move ahead by one tile."),
    PICK_UP: ("You pick up the {thing}.", "You lift the {thing} from the floor.", "You take the {thing}."),
    DROP: ("You put the {thing} down in {place}.", "You drop the {thing}, it now lies in {place}."),
}

_DOOR_MOVED = {
    "opened": ("The {thing} swings open.", "You open the {thing}.", "You pull the {thing} open."),
    "closed": ("The {thing} falls shut.", "You close the {thing}.", "You push the {thing} shut."),
    "unlocked": ("You turn the key: the {thing} is unlocked and open.", "The {thing} unlocks and swings open."),
}

_FAILED = {
    FORWARD: ("You try to walk on but stay where you are.", "Your step gets you nowhere.", "You do not move."),
    PICK_UP: (
        "You try to pick something up, without success.",
        "Your grasp changes nothing.",
        "You end up picking up nothing.",
    ),
    DROP: ("You try to put something down, but nothing happens.", "Nothing gets dropped.", "The drop comes to nothing."),
    TOGGLE: ("You try to toggle what is before you, but nothing changes.", "Nothing reacts.", "The toggle does nothing."),
}

_WHERE = (
    "You are in {place}, facing {facing}.",
    "You stand in {place} and look {facing}.",
    "Position: {place}; heading: {facing}.",
    "Facing {facing}, you are in {place}.",
)
_FRONT = (
    "Directly in front of you is {front}.",
    "Right ahead of you, within reach: {front}.",
    "On the next tile ahead there is {front}.",
)
_VIEW = ("Also in view: {sights}.", "Further around you can see {sights}.", "You notice {sights}.")
_NO_VIEW = ("Nothing else is in view.", "You see no other object or door.", "There is nothing more to see.")
_LOADED = ("You are carrying {load}.", "In your hands: {load}.", "You hold {load}.")
_EMPTY = ("Your hands are empty.", "You are carrying nothing.", "You hold nothing.")
_ENDED = {
    "completed": ('Mission "{mission}" is completed.', 'That completes the mission "{mission}".'),
    "failed": ('Mission "{mission}" has failed.', 'That was a mistake: the mission "{mission}" is lost.'),
    "given up": ('Mission "{mission}" is given up after too many steps.', 'Out of time: mission "{mission}" is given up.'),
}
_NEW = ("New mission: {mission}.", "Your next mission: {mission}.", "From now on your mission is: {mission}.")
_FIRST = ("Your mission: {mission}.", "You have been given a mission: {mission}.")


def describe(trace: Trace, step: int, rng: random.Random) -> str:
    """The observation of `step`. `rng` chooses among wordings and the order of the sentences, never among facts."""
    moment = trace.moments[step]
    around = [_where(moment, rng), rng.choice(_FRONT).format(front=moment.front.phrase), _view(moment, rng)]
    hands = rng.choice(_LOADED).format(load=moment.load) if moment.carrying else rng.choice(_EMPTY)
    around.insert(rng.choice((1, 3, 3)), hands)
    return " ".join([*_opening(trace, moment, rng), *around, *_mission_news(trace, moment, rng)])


def _opening(trace: Trace, moment: Moment, rng: random.Random) -> list[str]:
    """The mission, at step 0, and what the action did."""
    mission = [rng.choice(_FIRST).format(mission=trace.missions[0])] if moment.step == 0 else []
    return [*mission, _effect(moment, rng)]


def _effect(moment: Moment, rng: random.Random) -> str:
    event = moment.event
    if moment.obstacle:
        return rng.choice(_FAILED[moment.action])
    wordings = _DOOR_MOVED[event.kind] if event is not None and event.of_door else _WORKED[moment.action]
    thing, place = (event.thing.label, event.place) if event is not None else ("", "")
    return rng.choice(wordings).format(facing=moment.facing, thing=thing, place=place)


def _where(moment: Moment, rng: random.Random) -> str:
    column, row = moment.tile
    place = f"{moment.place} (column {column}, row {row})" if column else moment.place
    return rng.choice(_WHERE).format(place=place, facing=moment.facing)


def _view(moment: Moment, rng: random.Random) -> str:
    """The things in view but the one in front, which has its own sentence."""
    others = [s for s in moment.sights if (s.ahead, s.right) != (1, 0)]
    if not others:
        return rng.choice(_NO_VIEW)
    return rng.choice(_VIEW).format(sights="; ".join(f"{s.phrase}, {_direction(s)}" for s in others))


def _direction(sight: Sight) -> str:
    """`2 tiles ahead and 1 to the left`, `3 tiles ahead`, `1 tile to the right`."""
    side = "right" if sight.right > 0 else "left"
    if sight.ahead == 0:
        return f"{_tiles(abs(sight.right))} to the {side}"
    return f"{_tiles(sight.ahead)} ahead" + (f" and {abs(sight.right)} to the {side}" if sight.right else "")


def _tiles(count: int) -> str:
    return f"{count} tile{'' if count == 1 else 's'}"


def _mission_news(trace: Trace, moment: Moment, rng: random.Random) -> list[str]:
    """How the mission ended at this step and what the next one is."""
    if not moment.outcome:
        return []
    ended = rng.choice(_ENDED[moment.outcome]).format(mission=trace.missions[moment.mission - 1])
    return [ended, rng.choice(_NEW).format(mission=trace.missions[moment.mission])]
