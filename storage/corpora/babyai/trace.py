"""What happened in one simulated episode: the true state after every step, and the physics that explain it.

Nothing here imports the simulator. Texts (`describe.py`) and questions (`recall.py`, `causal.py`, `update.py`,
`abstraction.py`) are written from these records, never from each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

ACTIONS = ("turn left", "turn right", "move forward", "pick up", "drop", "toggle")
"""MiniGrid's actions 0 to 5 in words; `done` (6) is never performed."""

LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE = ACTIONS

LOOK = "look around"
"""The action of step 0: nothing is done, so that the state in which the episode starts is part of it."""

FACINGS = ("east", "south", "west", "north")
"""MiniGrid's directions 0 to 3; north is up."""


def a(phrase: str) -> str:
    """`phrase` with its indefinite article."""
    return f"an {phrase}" if phrase[0] in "aeiou" else f"a {phrase}"


@dataclass(frozen=True, slots=True)
class Thing:
    """An object (key, ball, box) or a door. `index` tells apart things that look alike.

    `rooms` are the two rooms that a door joins, empty for objects. `unique`: nothing else in this world has its kind and
    colour.
    """

    index: int
    kind: str
    color: str
    rooms: tuple[str, ...]
    unique: bool

    @property
    def label(self) -> str:
        """`red ball`, `grey door between rooms A1 and A2`: no two doors share a label, two objects may."""
        plain = f"{self.color} {self.kind}"
        return f"{plain} between rooms {' and '.join(self.rooms)}" if self.rooms else plain

    @property
    def name(self) -> str:
        """How a question names it: as short as possible."""
        return f"the {self.color} {self.kind}" if self.unique else f"the {self.label}"

    @property
    def can_be_named(self) -> bool:
        """Whether `name` can mean only this thing."""
        return self.unique or bool(self.rooms)


@dataclass(frozen=True, slots=True)
class Sight:
    """A thing in view: `ahead` tiles in front of the agent, `right` tiles to its right (negative: left).

    `state` is a door's `open`, `closed` or `locked`, empty for objects.
    """

    thing: Thing
    state: str
    ahead: int
    right: int

    @property
    def phrase(self) -> str:
        return a(f"{self.state} {self.thing.label}".strip())


@dataclass(frozen=True, slots=True)
class Front:
    """The tile before the agent: a wall, a thing (with a door's state) or, with neither, empty floor."""

    thing: Thing | None = None
    state: str = ""
    wall: bool = False

    @property
    def phrase(self) -> str:
        if self.thing is not None:
            return Sight(self.thing, self.state, 1, 0).phrase
        return "a wall" if self.wall else "an empty floor tile"

    @property
    def passable(self) -> bool:
        return not self.wall and (self.thing is None or self.state == "open")


@dataclass(frozen=True, slots=True)
class Event:
    """A change of the world other than the agent's own position: `kind` is a key of `EVENT_WORDS`.

    `place` is where the thing lies after a `put down`.
    """

    kind: str
    thing: Thing
    place: str = ""

    @property
    def words(self) -> str:
        return f"{self.kind} the {self.thing.label}"

    @property
    def of_door(self) -> bool:
        return self.thing.kind == "door"


@dataclass(frozen=True, slots=True)
class Moment:
    """The true state after the action of one step.

    `obstacle` says why the action changed nothing and is empty when it changed something (and at step 0). `place` is a
    room or a passage between two; `tile` is (column, row) inside the room from 1, (0, 0) in a passage. `doors` are the
    states of `Trace.doors`, in that order. `mission` is the number, from 1, of the mission during this step; `outcome`
    how it ended here (`completed`, `failed`, `given up`), else empty.
    """

    step: int
    action: str
    obstacle: str
    event: Event | None
    place: str
    tile: tuple[int, int]
    facing: str
    front: Front
    carrying: Thing | None
    sights: tuple[Sight, ...]
    doors: tuple[str, ...]
    mission: int
    outcome: str

    @property
    def where(self) -> str:
        """`room A1, facing east`."""
        return f"{self.place}, facing {self.facing}"

    @property
    def load(self) -> str:
        """What the agent carries: `a red ball` or `nothing`."""
        return a(self.carrying.label) if self.carrying else "nothing"


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole episode. `moments[n].step == n`; `missions[m - 1]` is the text of mission number m."""

    level: str
    level_seed: int
    missions: tuple[str, ...]
    doors: tuple[Thing, ...]
    moments: tuple[Moment, ...]

    @property
    def last(self) -> int:
        """The label of the last step."""
        return len(self.moments) - 1

    def events(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, Event]]:
        """The (step, event) pairs from step `first` to step `last`, both included."""
        for moment in self.moments[first : None if last is None else last + 1]:
            if moment.event is not None:
                yield moment.step, moment.event

    def history(self, thing: Thing) -> list[tuple[int, Event]]:
        """The events of one thing, in order."""
        return [(step, event) for step, event in self.events() if event.thing == thing]

    def door_state(self, door: Thing, step: int) -> str:
        """The recorded state of a door after `step`."""
        return self.moments[step].doors[self.doors.index(door)]


def obstacle(action: str, front: Front, carrying: Thing | None) -> str:
    """Why `action` would change nothing in this state, as a sentence; empty when it would change something."""
    if action == FORWARD:
        return "" if front.passable else f"The way was blocked by {front.phrase}."
    if action == PICK_UP:
        return _pick_up_obstacle(front, carrying)
    if action == DROP:
        return _drop_obstacle(front, carrying)
    if action == TOGGLE:
        return _toggle_obstacle(front, carrying)
    return ""


def _pick_up_obstacle(front: Front, carrying: Thing | None) -> str:
    if front.thing is None or front.thing.kind == "door":
        return f"In front of the agent was {front.phrase}, which cannot be picked up."
    return f"The agent was already carrying {a(carrying.label)}." if carrying else ""


def _drop_obstacle(front: Front, carrying: Thing | None) -> str:
    if carrying is None:
        return "The agent was carrying nothing that it could drop."
    return "" if front == Front() else f"There was no free floor in front of the agent, but {front.phrase}."


def _toggle_obstacle(front: Front, carrying: Thing | None) -> str:
    if front.thing is None or front.thing.kind in ("key", "ball"):
        return f"In front of the agent was {front.phrase}, which cannot be toggled."
    if front.state == "locked" and not opens(carrying, front.thing):
        return f"The {front.thing.label} was locked and the agent did not carry a {front.thing.color} key."
    return ""


def opens(carried: Thing | None, door: Thing) -> bool:
    """Whether the carried thing is a key of the door's colour."""
    return carried is not None and carried.kind == "key" and carried.color == door.color
