"""MiniGrid's expert bot as an adviser of an agent that sometimes acts at random.

The bot is written for its own moves; after random ones its plan can break. Two things are changed here and no others: its
search uses a queue with constant-time ends (same order, same paths), and a plan that grows without ever
suggesting an action is stopped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from minigrid.envs.babyai.core.verifier import GoToInstr, OpenInstr
from minigrid.utils.baby_ai_bot import BabyAIBot, DropSubgoal, GoNextToSubgoal

Tile = tuple[int, int]
Found = tuple[list[Tile] | None, Tile | None, dict[Tile, Tile | None]]

MAX_PUSHES = 200
"""Subgoals that one re-planning may add; a sound plan adds fewer than 20."""


class EndlessPlanError(Exception):
    """The bot keeps adding subgoals without suggesting an action."""


class _Plan(list[Any]):
    """The bot's stack of subgoals. A loop that never suggests an action must push again and again, so pushes are counted."""

    pushes = 0

    def append(self, subgoal: Any) -> None:
        self.pushes += 1
        if self.pushes > MAX_PUSHES:
            raise EndlessPlanError(f"{MAX_PUSHES} subgoals without an action, the last one {subgoal}")
        super().append(subgoal)


class Expert(BabyAIBot):
    """The bot for the current mission of `env`. `look` gives the tiles in view; `seen` is the map so far.

    `seen` is a boolean array of shape (width, height) that outlives a mission.
    """

    def __init__(self, env: Any, look: Callable[[], Iterable[Tile]], seen: np.ndarray) -> None:
        super().__init__(env)  # type: ignore[no-untyped-call]
        self.stack: Any = _Plan(self.stack)
        self.vis_mask = seen
        self._look = look
        self._fresh = True
        if env.carrying is not None and not isinstance(env.instrs, GoToInstr | OpenInstr):
            self._lay_down_first()

    def _lay_down_first(self) -> None:
        """Put down what is left over from the mission before: the bot picks things up only with empty hands."""
        self._process_obs()
        place = self._find_drop_pos()  # type: ignore[no-untyped-call]
        if place is not None:
            self.stack.append(DropSubgoal(self))
            self.stack.append(GoNextToSubgoal(self, place))

    def advise(self, last_action: int | None) -> int | None:
        """The action (0 to 5) to take now, given the one taken before; None when the bot does not know how to go on."""
        self.stack.pushes = 0
        try:
            advice = self.replan(None if self._fresh else last_action)  # type: ignore[no-untyped-call]
        except (AssertionError, EndlessPlanError):  # the bot asserts what its own moves would have made true
            return None
        self._fresh = False
        return None if advice == self.mission.actions.done else int(advice)

    def _process_obs(self) -> None:
        for tile in self._look():
            self.vis_mask[tile] = True

    def _breadth_first_search(
        self, initial_states: list[tuple[int, int, int, int]], accept_fn: Callable[[Tile, Any], bool], ignore_blockers: bool
    ) -> Found:
        """The parent's search: straight on before turning, through seen tiles only."""
        cells, width = self.mission.grid.grid, self.mission.grid.width
        queue: deque[tuple[tuple[int, int, int, int], Tile | None]] = deque((state, None) for state in initial_states)
        previous: dict[Tile, Tile | None] = {}
        while queue:
            (i, j, di, dj), came_from = queue.popleft()
            tile = (i, j)
            if tile in previous:
                continue
            previous[tile] = came_from
            cell = cells[j * width + i]
            if accept_fn(tile, cell):
                return _path_to(tile, previous), tile, previous
            if self.vis_mask[tile] and _can_cross(cell, ignore_blockers):
                for k, m in ((di, dj), (dj, di), (-dj, -di), (-di, -dj)):
                    if (i + k, j + m) not in previous:
                        queue.append(((i + k, j + m, k, m), tile))
        return None, None, previous


def _path_to(tile: Tile, previous: dict[Tile, Tile | None]) -> list[Tile]:
    """The tiles from `tile` back to the start of the search."""
    path: list[Tile] = []
    at: Tile | None = tile
    while at is not None:
        path.append(at)
        at = previous[at]
    return path


def _can_cross(cell: Any, ignore_blockers: bool) -> bool:
    if cell is None:
        return True
    if cell.type == "door":
        return bool(cell.is_open)
    return ignore_blockers and cell.type != "wall"
