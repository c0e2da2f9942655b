"""Agreement between judges, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from models.agreement import agreements, cohens_kappa, majority


def test_kappa_of_the_textbook_table() -> None:
    """20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: agreement 0.7, chance 0.5, kappa 0.4."""
    pairs = [(1.0, 1.0)] * 20 + [(1.0, 0.0)] * 5 + [(0.0, 1.0)] * 10 + [(0.0, 0.0)] * 15
    assert cohens_kappa(pairs) == pytest.approx(0.4)


def test_judges_that_always_say_the_same_agree_fully_and_opposites_not_at_all() -> None:
    assert cohens_kappa([(1.0, 1.0)] * 5) == 1.0
    assert cohens_kappa([(1.0, 0.0), (0.0, 1.0)]) == pytest.approx(-1.0)


def test_answers_without_a_verdict_are_in_no_pair() -> None:
    [pair] = agreements({"a": [1.0, None, 0.0], "b": [1.0, 1.0, 1.0]})
    assert (pair.n, pair.agreement) == (2, 0.5)
    [empty] = agreements({"a": [None], "b": [1.0]})
    assert (empty.n, empty.agreement, empty.kappa) == (0, None, None)


def test_three_judges_make_three_pairs_and_a_majority() -> None:
    verdicts = {"a": [1.0, 0.0, 1.0, None], "b": [1.0, 0.0, None, None], "c": [0.0, 1.0, 0.0, None]}
    assert [(p.first, p.second) for p in agreements(verdicts)] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert majority(list(verdicts.values())) == [1.0, 0.0, None, None]


def test_judges_of_different_answers_are_refused() -> None:
    with pytest.raises(ValueError, match="same answers"):
        agreements({"a": [1.0], "b": []})
