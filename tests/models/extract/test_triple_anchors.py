"""A triple is anchored at the step that shows it."""

from __future__ import annotations

import pytest

from models.extract.triple_anchors import Anchors

BLOCKS = [
    (4, "Step 4:\nAction: go to cabinet 1\nObservation: The cabinet 1 is closed."),
    (5, "Step 5:\nAction: open cabinet 1\nObservation: You open the cabinet 1. You see a plate 2."),
    (6, "Step 6:\nAction: go to cabinet 3\nObservation: The cabinet 3 is closed."),
    (7, "Step 7:\nAction: 打开 冰箱\nObservation: 冰箱里有苹果。"),
    (8, "Step 8:\nAction: take plate 2\nObservation: As in Step 4: you did what Step 6: says."),
]


@pytest.mark.parametrize(
    ("triple", "step"),
    [
        (("agent", "opened", "cabinet 1"), 5),
        (("cabinet 1", "is", "closed"), 4),
        (("cabinet 3", "is", "closed"), 6),
        (("cabinet 1", "contains", "plate 2"), 5),
        (("agent", "takes", "plate 2"), 8),
        (("冰箱", "里有", "苹果"), 7),
        (("cabinet 1", "stands beside", "the microwave"), 4),
        (("Berlin", "is capital of", "Germany"), None),
        (("!", "?", "."), None),
    ],
)
def test_the_words_of_a_triple_find_its_step(triple: tuple[str, str, str], step: int | None) -> None:
    assert Anchors(BLOCKS).step_of(*triple) == step


def test_of_equal_steps_the_first_is_taken() -> None:
    assert Anchors([(9, "the red door"), (3, "the red door")]).step_of("red door", "is", "red") == 9


def test_a_passage_of_one_step_needs_no_words() -> None:
    assert Anchors([(12, "piece of a page")]).step_of("Berlin", "is", "big") == 12
    assert Anchors([]).step_of("Berlin", "is", "big") is None
