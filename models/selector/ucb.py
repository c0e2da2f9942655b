"""Prior directions as arms of a bandit: which one a search follows next (MESA, section 4.2 and Appendix B.2).

Eq. 9, over the n_a candidates evaluated under direction a and N = sum of all n_a:

    UCB(a) = mean validation objective of a + beta * sqrt(ln(N + 2) / (n_a + 1))

An arm without a candidate has the frontier score, the best objective so far, for its mean: what is untried is never rated
below what is known, so every arm is tried before any of them is preferred. beta = 0 is the ablation "w/o UCB".

The paper says in words which arm each of the three candidates of an iteration follows. Here each takes the highest UCB,

- exploit, "a previously effective direction": of the arms with an evaluated candidate;
- explore, "an under-explored direction": of the arms tried no more often than the average arm;
- repair: of the arms that the other two left, since the paper binds repair to an error and to no direction.

So beta = 0 exploits the best mean; with the bonus, a direction that was lucky early is not followed to the end: "a
substantially smaller value makes scheduling nearly greedy" (Appendix B.2).

Tries count every proposal, valid or not; n_a only the evaluated ones. An invalid candidate says nothing about the objective,
so it moves neither mean nor bonus, but an arm whose proposals keep failing is soon tried more than the average arm and stops
holding up exploration. Equal arms: the less tried, then the earlier.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from models.selector.contract import ArmStats


class Arms:
    """The statistics of all directions during one search. The set of arms is fixed when it starts (Appendix D)."""

    def __init__(self, directions: Sequence[str], beta: float) -> None:
        if not directions or len(set(directions)) != len(directions):
            raise ValueError(f"a search needs directions with different names, not {list(directions)}")
        if not (math.isfinite(beta) and beta >= 0):
            raise ValueError(f"beta is {beta}; it must be 0 or more")
        self.beta = beta
        self._objectives: dict[str, list[float]] = {direction: [] for direction in directions}
        self._tries = dict.fromkeys(directions, 0)

    def tried(self, direction: str) -> None:
        """Count a proposal under `direction`, whatever becomes of it. KeyError for an unknown direction."""
        self._tries[direction] += 1

    def update(self, direction: str, objective: float) -> None:
        """Add an evaluated candidate. KeyError for an unknown direction, ValueError for an objective that is no number."""
        if not math.isfinite(objective):
            raise ValueError(f"objective {objective} under {direction!r}: only evaluated candidates belong to an arm")
        self._objectives[direction].append(objective)

    def stats(self, frontier: float) -> tuple[ArmStats, ...]:
        """Every arm in the order of the directions; `frontier` is the best validation objective so far."""
        total = sum(len(objectives) for objectives in self._objectives.values())
        return tuple(self._stats(name, total, frontier) for name in self._objectives)

    def tries(self) -> dict[str, int]:
        """Proposals by direction, valid or not."""
        return dict(self._tries)

    def exploit(self, frontier: float) -> str:
        """The visited arm with the highest UCB; before any is visited, the first of all."""
        arms = self.stats(frontier)
        return self._highest([arm for arm in arms if arm.n] or arms)

    def explore(self, frontier: float, taken: Collection[str] = ()) -> str:
        """The under-explored arm with the highest UCB, if possible none of `taken`."""
        arms = self._left(self.stats(frontier), taken)
        return self._highest([arm for arm in arms if self._tries[arm.direction] <= self._average()] or arms)

    def repair(self, frontier: float, taken: Collection[str] = ()) -> str:
        """The arm with the highest UCB, if possible none of `taken` and none whose proposals only fail."""
        arms = self._left(self.stats(frontier), taken)
        return self._highest([arm for arm in arms if arm.n or self._tries[arm.direction] <= self._average()] or arms)

    def _stats(self, name: str, total: int, frontier: float) -> ArmStats:
        objectives = self._objectives[name]
        n = len(objectives)
        mean = math.fsum(objectives) / n if n else frontier
        return ArmStats(name, n, mean, mean + self.beta * math.sqrt(math.log(total + 2) / (n + 1)))

    def _average(self) -> float:
        return sum(self._tries.values()) / len(self._tries)

    def _left(self, arms: Sequence[ArmStats], taken: Collection[str]) -> Sequence[ArmStats]:
        return [arm for arm in arms if arm.direction not in taken] or arms

    def _highest(self, arms: Sequence[ArmStats]) -> str:
        return max(arms, key=lambda arm: (arm.ucb, -self._tries[arm.direction])).direction
