"""One BabyAI level of MiniGrid: named rooms and things, what the agent sees, and what an action changes.

States are read from the grid; no image is made.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import gymnasium
import minigrid  # noqa: F401  (registers the levels)
from minigrid.core.world_object import Wall

from storage.corpora.babyai.trace import ACTIONS, FACINGS, Event, Front, Moment, Sight, Thing, obstacle

Tile = tuple[int, int]

VIEW = 7
"""The agent sees VIEW x VIEW tiles: those ahead of it and up to VIEW // 2 to either side (MiniGrid's default)."""

_OUTSIDE = Wall()
"""What MiniGrid sees beyond the edge of the grid."""


class World:
    """One level of MiniGrid with names for its rooms and things; states are read from the grid, no image is made."""

    def __init__(self, env_id: str, seed: int) -> None:
        self.seed = seed
        env: Any = gymnasium.make(env_id, disable_env_checker=True).unwrapped
        self.env = env
        env.gen_obs = dict  # reset() and step() would encode an image that nobody looks at
        with contextlib.redirect_stdout(io.StringIO()):  # the level generator prints "Sampling rejected ..."
            env.reset(seed=seed)
        env.max_steps = 10**9  # the reward of a success falls with step_count / max_steps and must stay positive
        self._view: list[tuple[Tile, int, int]] | None = None
        self._things = self._name_things()
        self.doors = tuple(thing for thing in self._things.values() if thing.kind == "door")
        self._door_cells = [cell for cell in self._things if cell.type == "door"]

    def cells(self) -> list[tuple[Tile, Any]]:
        """The objects and doors that stand on the grid with their tiles, row by row."""
        width, grid = self.env.grid.width, self.env.grid.grid
        return [((k % width, k // width), c) for k, c in enumerate(grid) if c is not None and c.type != "wall"]

    def _name_things(self) -> dict[Any, Thing]:
        cells = self.cells()
        looks = [(cell.type, cell.color) for _, cell in cells]
        return {
            cell: Thing(index, *look, self._joined_rooms(tile) if cell.type == "door" else (), looks.count(look) == 1)
            for index, ((tile, cell), look) in enumerate(zip(cells, looks, strict=True))
        }

    def _room(self, x: int, y: int) -> str:
        """`A1` is the north-west room; letters run east, numbers south."""
        side = self.env.room_size - 1
        column, row = min(x // side, self.env.num_cols - 1), min(y // side, self.env.num_rows - 1)
        return f"{chr(ord('A') + column)}{row + 1}"

    def _joined_rooms(self, tile: Tile) -> tuple[str, ...]:
        """The two rooms on either side of a tile that lies in a wall between them."""
        x, y = tile
        beyond = (x - 1, y) if x % (self.env.room_size - 1) == 0 else (x, y - 1)
        return self._room(*beyond), self._room(x, y)

    def place(self, tile: Tile) -> str:
        """The room of a tile, or the passage in which it lies."""
        column, row = self._inner(tile)
        if column and row:
            return f"room {self._room(*tile)}"
        return f"the passage between rooms {' and '.join(self._joined_rooms(tile))}"

    def _inner(self, tile: Tile) -> Tile:
        """(column, row) inside the room, from 1; a 0 means that the tile lies in a wall line."""
        side = self.env.room_size - 1
        return tile[0] % side, tile[1] % side

    @property
    def agent(self) -> Tile:
        x, y = self.env.agent_pos
        return int(x), int(y)

    @property
    def front_tile(self) -> Tile:
        x, y = self.env.front_pos
        return int(x), int(y)

    @property
    def carrying(self) -> Thing | None:
        return None if self.env.carrying is None else self._things[self.env.carrying]

    def front(self) -> Front:
        cell = self.env.grid.get(*self.front_tile)
        if cell is None:
            return Front()
        return Front(wall=True) if cell.type == "wall" else Front(self._things[cell], _state(cell))

    def view(self) -> list[tuple[Tile, int, int]]:
        """The (tile, ahead, right) in view: MiniGrid's visibility rule without copying and turning the grid."""
        if self._view is None:
            self._view = self._look_ahead()
        return self._view

    def _look_ahead(self) -> list[tuple[Tile, int, int]]:
        (x, y), (dx, dy), middle = self.agent, (int(d) for d in self.env.dir_vec), VIEW // 2
        width, height, grid = self.env.grid.width, self.env.grid.height, self.env.grid.grid
        rows = [
            [(x + dx * ahead - dy * right, y + dy * ahead + dx * right) for right in range(-middle, middle + 1)]
            for ahead in range(VIEW)
        ]
        cells = [[grid[j * width + i] if 0 <= i < width and 0 <= j < height else _OUTSIDE for i, j in row] for row in rows]
        seen = _visible([[cell is None or cell.see_behind() for cell in row] for row in cells], middle)
        return [
            (rows[ahead][k], ahead, k - middle)
            for ahead in range(VIEW)
            for k in range(VIEW)
            if seen[ahead][k] and cells[ahead][k] is not _OUTSIDE
        ]

    def sights(self) -> tuple[Sight, ...]:
        """The things in view, nearest first; the agent's own tile is not among them."""
        width, grid = self.env.grid.width, self.env.grid.grid
        found = []
        for tile, ahead, right in self.view():
            cell = grid[tile[1] * width + tile[0]]
            if cell is not None and cell.type != "wall" and (ahead or right):
                found.append(Sight(self._things[cell], _state(cell), ahead, right))
        return tuple(sorted(found, key=lambda s: (s.ahead + abs(s.right), s.ahead, s.right)))

    def door_states(self) -> tuple[str, ...]:
        return tuple(_state(cell) for cell in self._door_cells)

    def moment(self, step: int, action: str, why_not: str, event: Event | None, mission: int, outcome: str) -> Moment:
        """The present state as the record of `step`."""
        column, row = self._inner(self.agent)
        return Moment(
            step,
            action,
            why_not,
            event,
            self.place(self.agent),
            (column, row) if column and row else (0, 0),
            FACINGS[self.env.agent_dir],
            self.front(),
            self.carrying,
            self.sights(),
            self.door_states(),
            mission,
            outcome,
        )

    def perform(self, action: int) -> tuple[str, Event | None, str]:
        """Do `action` (0 to 5). Returns why it changed nothing (or ""), the event it caused, and how the mission ended."""
        before, load, front_tile = self.front(), self.carrying, self.front_tile
        why_not = obstacle(ACTIONS[action], before, load)
        _, reward, ended, _, _ = self.env.step(action)
        self._view = None
        event = self._event(before, load, front_tile)
        return why_not, event, ("completed" if reward > 0 else "failed") if ended else ""

    def _event(self, before: Front, load: Thing | None, front_tile: Tile) -> Event | None:
        """What differs from before the action: the hands, or the door that was in front."""
        now = self.carrying
        if now != load:
            if now is not None:
                return Event("picked up", now)
            assert load is not None
            return Event("put down", load, self.place(front_tile))
        if before.thing is None or before.thing.kind != "door":
            return None
        state = self.door_states()[self.doors.index(before.thing)]
        if state == before.state:
            return None
        return Event("unlocked" if before.state == "locked" else "opened" if state == "open" else "closed", before.thing)


def _visible(transparent: list[list[bool]], middle: int) -> list[list[bool]]:
    """Which tiles of the view are seen: light spreads sideways and ahead through transparent tiles (`Grid.process_vis`).

    Both grids are indexed [ahead][from left to right]; the agent stands at [0][middle].
    """
    size = len(transparent)
    seen = [[False] * size for _ in range(size + 1)]
    seen[0][middle] = True
    for ahead in range(size):
        row, beyond = seen[ahead], seen[ahead + 1]
        for order, turn in ((range(size - 1), 1), (range(size - 1, 0, -1), -1)):
            for k in order:
                if row[k] and transparent[ahead][k]:
                    row[k + turn] = beyond[k + turn] = beyond[k] = True
    return seen[:size]


def _state(cell: Any) -> str:
    """A door's state; empty for objects."""
    if cell.type != "door":
        return ""
    return "open" if cell.is_open else "locked" if cell.is_locked else "closed"
