"""Playing of one episode: which level, which missions, an expert mixed with random moves.

An episode stays in one world. When a mission ends (completed, failed, or given up after `PATIENCE` steps) a new one
of the level's kinds is set in the same world, so that an episode may have any length and things keep their history.
Only `BabyAI.episode` imports this module, since it imports the simulator.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from minigrid.envs.babyai.core.verifier import GoToInstr, ObjDesc, OpenInstr, PickupInstr, PutNextInstr

from storage.corpora.babyai.expert import Expert
from storage.corpora.babyai.trace import ACTIONS, LOOK, TOGGLE, Moment, Trace
from storage.corpora.babyai.world import Tile, World

PATIENCE = 150
"""Steps after which a mission is given up."""


@dataclass(frozen=True, slots=True)
class Level:
    """A kind of episode: the `family` is its task type; `missions` are the kinds of the missions after the first."""

    env_id: str
    family: str
    domain: str
    missions: tuple[str, ...]


LEVELS = (
    Level("BabyAI-GoToSeqS5R2-v0", "go_to", "navigation", ("go to",)),
    Level("BabyAI-UnblockPickup-v0", "pick_up", "manipulation", ("pick up",)),
    Level("BabyAI-OpenDoorsOrderN4-v0", "open", "doors", ("open", "go to")),
    Level("BabyAI-PutNextLocal-v0", "put_next", "manipulation", ("put next",)),
    Level("BabyAI-UnlockPickupDist-v0", "unlock", "doors", ("open", "pick up")),
    Level("BabyAI-MiniBossLevel-v0", "compound", "composite", ("go to", "pick up", "open", "put next")),
    Level("BabyAI-GoToObjMazeS5-v0", "go_to", "navigation", ("go to",)),
    Level("BabyAI-PickupDist-v0", "pick_up", "manipulation", ("pick up",)),
    Level("BabyAI-Open-v0", "open", "doors", ("open", "go to")),
    Level("BabyAI-PutNextS6N3-v0", "put_next", "manipulation", ("put next",)),
    Level("BabyAI-KeyCorridorS3R3-v0", "unlock", "doors", ("open", "pick up")),
    Level("BabyAI-Synth-v0", "compound", "composite", ("go to", "pick up", "open", "put next")),
)
"""Every family once in the first six and again, in another level, in the next six; episode i plays LEVELS[i % 12]."""


def simulate(level: Level, n_steps: int, random_ratio: float, rng: random.Random) -> Trace:
    """Play `n_steps` steps (the first is `look around`) and record them. Depends on nothing but the arguments."""
    world = World(level.env_id, rng.getrandbits(31))
    run = _Run(level, world, random_ratio, rng)
    moments = [world.moment(0, LOOK, "", None, mission=1, outcome="")]
    moments.extend(run.step(number) for number in range(1, n_steps))
    return Trace(level.env_id, world.seed, tuple(run.missions), world.doors, tuple(moments))


class _Run:
    """The missions and the moves of one episode."""

    def __init__(self, level: Level, world: World, random_ratio: float, rng: random.Random) -> None:
        self._level, self._world, self._random_ratio, self._rng = level, world, random_ratio, rng
        self._seen = np.zeros((world.env.width, world.env.height), dtype=bool)
        self._expert = self._new_expert()
        self._last_action: int | None = None
        self._mission_began = 0
        self.missions = [str(world.env.mission)]

    def step(self, number: int) -> Moment:
        """Choose an action, perform it and record the state after it; a mission that ends is followed by a new one."""
        action = self._choose()
        why_not, event, outcome = self._world.perform(action)
        self._last_action = action
        mission = len(self.missions)
        if not outcome and number - self._mission_began >= PATIENCE:
            outcome = "given up"
        if outcome:
            self._set_mission(number)
        return self._world.moment(number, ACTIONS[action], why_not, event, mission, outcome)

    def _new_expert(self) -> Expert:
        return Expert(self._world.env, lambda: (tile for tile, _, _ in self._world.view()), self._seen)

    def _choose(self) -> int:
        """The expert's advice, or a random move with the given probability or when the expert is at a loss."""
        advice = self._expert.advise(self._last_action)
        if advice is None:
            self._expert = self._new_expert()
        elif self._rng.random() >= self._random_ratio:
            return advice
        return self._random_action()

    def _random_action(self) -> int:
        """Any action, but never the opening of a box: it destroys the box, and with it a thing to ask about."""
        thing = self._world.front().thing
        boxed = thing is not None and thing.kind == "box"
        return self._rng.choice([k for k, action in enumerate(ACTIONS) if not (boxed and action == TOGGLE)])

    def _set_mission(self, number: int) -> None:
        env = self._world.env
        kinds = list(self._level.missions)
        self._rng.shuffle(kinds)
        offers = (_instruction(self._world, kind, self._rng) for kind in (*kinds, "go to"))
        env.instrs = next(offer for offer in offers if offer is not None)
        env.instrs.reset_verifier(env)
        self.missions.append(env.instrs.surface(env))
        self._expert = self._new_expert()
        self._mission_began = number


def _instruction(world: World, kind: str, rng: random.Random) -> Any | None:
    """A random instruction of this kind that the present world allows and has not fulfilled yet; None when there is none.

    `go to` always exists: every level has more things than the agent can carry and face.
    """
    cells = world.cells()
    loose = [(tile, cell) for tile, cell in cells if cell.type != "door"]
    if kind == "put next":
        pairs = [(a, b) for a in loose for b in loose if _look(a[1]) != _look(b[1]) and not _adjacent(a[0], b[0])]
        return PutNextInstr(*(_any_like(cell) for _, cell in rng.choice(pairs))) if pairs else None  # type: ignore[no-untyped-call]
    make, targets = {
        "go to": (GoToInstr, [c for tile, c in cells if tile not in (world.front_tile, world.agent)]),
        "pick up": (PickupInstr, [c for _, c in loose]),
        "open": (OpenInstr, [c for _, c in cells if c.type == "door" and not c.is_open]),
    }[kind]
    return make(_any_like(rng.choice(targets))) if targets else None


def _look(cell: Any) -> tuple[str, str]:
    return cell.type, cell.color


def _any_like(cell: Any) -> Any:
    """The instruction's words for this thing: anything of its kind and colour will do."""
    return ObjDesc(*_look(cell))  # type: ignore[no-untyped-call]


def _adjacent(a: Tile, b: Tile) -> bool:
    return abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1
