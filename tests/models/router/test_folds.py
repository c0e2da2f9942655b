from __future__ import annotations

import random

import pytest

from models.router.folds import make_folds

TEN = [f"conv-{i}" for i in range(10)]


def test_parts_are_disjoint_and_together_everything() -> None:
    for fold in make_folds(TEN):
        parts = (fold.train, fold.validation, fold.test)
        assert [len(part) for part in parts] == [6, 2, 2]
        assert sorted(name for part in parts for name in part) == TEN


@pytest.mark.parametrize("count", [5, 7, 12])
def test_every_episode_is_tested_and_validated_once(count: int) -> None:
    names = [f"e{i}" for i in range(count)]
    folds = make_folds(names)
    assert sorted(name for fold in folds for name in fold.test) == sorted(names)
    assert sorted(name for fold in folds for name in fold.validation) == sorted(names)


def test_folds_depend_on_the_seed_and_not_on_the_order_of_the_episodes() -> None:
    shuffled = random.Random(1).sample(TEN, 10)
    assert make_folds(shuffled) == make_folds(TEN)
    assert make_folds(TEN, seed=1) != make_folds(TEN)


@pytest.mark.parametrize(
    ("names", "count", "message"),
    [
        (["a", "a", "b"], 3, "comes twice"),
        (["a", "b"], 5, "2 episodes cannot make 5 folds"),
        (TEN, 2, "nothing to train on"),
    ],
)
def test_what_cannot_be_folded_is_refused(names: list[str], count: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_folds(names, count=count)
