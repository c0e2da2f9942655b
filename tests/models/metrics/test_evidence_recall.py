from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.metrics.evidence_recall import evidence_recall

STEPS = st.lists(st.integers(0, 30), max_size=12)


def test_the_share_of_distinct_gold_steps_is_counted() -> None:
    assert evidence_recall([3, 3, 9], [3, 5, 5]) == pytest.approx(0.5)


def test_step_0_is_a_step() -> None:
    assert evidence_recall([0], [0]) == 1.0


def test_a_question_without_gold_evidence_has_no_recall() -> None:
    assert evidence_recall([1, 2], []) is None


def test_finding_nothing_is_0() -> None:
    assert evidence_recall([], [4]) == 0.0


@given(STEPS, STEPS, STEPS)
def test_more_evidence_never_lowers_recall(found: list[int], more: list[int], gold: list[int]) -> None:
    few, many = evidence_recall(found, gold), evidence_recall(found + more, gold)
    assert (few is None) == (many is None) == (not gold)
    if few is not None and many is not None:
        assert 0.0 <= few <= many <= 1.0
