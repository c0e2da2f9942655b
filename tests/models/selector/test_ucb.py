from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.selector.ucb import Arms

NAMES = [f"direction-{i}" for i in range(20)]


def test_the_bound_is_equation_9() -> None:
    arms = Arms(["a", "b"], beta=0.08)
    for objective in (0.5, 0.6, 0.4):
        arms.update("a", objective)
    arms.update("b", 0.7)
    a, b = arms.stats(frontier=0.7)
    assert (a.n, a.mean, b.n, b.mean) == (3, pytest.approx(0.5), 1, 0.7)
    assert a.ucb == pytest.approx(0.5 + 0.08 * math.sqrt(math.log(6) / 4))
    assert b.ucb == pytest.approx(0.7 + 0.08 * math.sqrt(math.log(6) / 2))


def test_an_unvisited_arm_starts_at_the_frontier_and_not_at_0() -> None:
    arms = Arms(["a", "b"], beta=0.08)
    arms.update("a", 0.3)
    unvisited = arms.stats(frontier=0.65)[1]
    assert (unvisited.n, unvisited.mean) == (0, 0.65)
    assert unvisited.ucb == pytest.approx(0.65 + 0.08 * math.sqrt(math.log(3)))


def test_without_ucb_the_bound_is_the_mean() -> None:
    arms = Arms(["a", "b"], beta=0.0)
    arms.update("a", 0.3)
    assert [arm.ucb for arm in arms.stats(0.5)] == [0.3, 0.5]


@pytest.mark.parametrize(("beta", "chosen"), [(0.0, "b"), (0.08, "b"), (5.0, "c")])
def test_exploitation_takes_the_highest_bound_of_the_visited_arms(beta: float, chosen: str) -> None:
    arms = Arms(["a", "b", "c", "unvisited"], beta)
    for direction, objective in (("a", 0.9), ("a", 0.2), ("b", 0.6), ("b", 0.6), ("c", 0.5)):
        arms.update(direction, objective)
    assert arms.exploit(frontier=0.9) == chosen


def test_exploration_prefers_the_promising_of_the_under_explored() -> None:
    arms = Arms(["often", "good", "poor"], beta=0.01)
    for direction, objective, times in (("often", 0.9, 8), ("good", 0.6, 1), ("poor", 0.5, 1)):
        for _ in range(times):
            arms.tried(direction)
            arms.update(direction, objective)
    assert arms.explore(frontier=0.9) == "good"
    assert arms.explore(frontier=0.9, taken=["good"]) == "poor"
    assert arms.repair(frontier=0.9) == "often"


@pytest.mark.parametrize("beta", [0.0, 0.08])
def test_exploration_visits_every_arm_before_any_twice(beta: float) -> None:
    arms = Arms(NAMES, beta)
    for step, name in enumerate(NAMES):
        assert arms.explore(frontier=0.5) == name
        arms.tried(name)
        arms.update(name, 0.5 if step == 3 else 0.1)


def test_an_arm_that_only_fails_does_not_hold_up_exploration_or_repair() -> None:
    arms = Arms(["broken", "a", "b"], beta=0.08)
    chosen = []
    for _ in range(12):
        for name in (arms.explore(0.5), arms.repair(0.5)):
            chosen.append(name)
            arms.tried(name)
            if name != "broken":
                arms.update(name, 0.4)
    assert arms.stats(0.5)[0].n == 0
    assert 1 <= chosen.count("broken") <= 12
    assert min(chosen.count("a"), chosen.count("b")) >= 5


def test_one_arm_is_chosen_for_every_role() -> None:
    arms = Arms(["any"], beta=0.08)
    assert {arms.exploit(0.5), arms.explore(0.5, ["any"]), arms.repair(0.5, ["any"])} == {"any"}


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), max_size=40))
def test_no_visited_arm_is_rated_above_an_unvisited_one(visits: list[tuple[int, float]]) -> None:
    arms = Arms(NAMES[:6], beta=0.08)
    for index, objective in visits:
        arms.update(NAMES[index], objective)
    frontier = max((objective for _, objective in visits), default=0.0)
    *_, unvisited = stats = arms.stats(frontier)
    assert unvisited.ucb == max(arm.ucb for arm in stats)


def test_bad_arms_are_refused() -> None:
    with pytest.raises(ValueError, match="different names"):
        Arms(["a", "a"], 0.08)
    with pytest.raises(ValueError, match="different names"):
        Arms([], 0.08)
    with pytest.raises(ValueError, match="beta is -1"):
        Arms(["a"], -1)
    with pytest.raises(ValueError, match="only evaluated candidates"):
        Arms(["a"], 0.08).update("a", math.nan)
    with pytest.raises(KeyError):
        Arms(["a"], 0.08).update("b", 0.5)
