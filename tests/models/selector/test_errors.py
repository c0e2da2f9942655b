from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from models.selector.contract import Case, OutcomeTable
from models.selector.errors import ErrorConfig, recurring_errors, worst_cell

SUBSETS = ("S", "R", "S+R")
TOKENS = (100.0, 300.0, 400.0)


def case(index: int, domain: str = "SOFTWARE", capability: str = "causal", **previews: Any) -> Case:
    context = {"domain": domain, "capability": capability, "previews": previews}
    return Case(f"d/e/{index}", f"SECRET question {index}", context)


def table(cases: Sequence[Case], scores: Sequence[Sequence[float]]) -> OutcomeTable:
    return OutcomeTable(tuple(cases), SUBSETS, np.array(scores, float), np.tile(np.array(TOKENS), (len(cases), 1)))


def test_a_recurring_failure_names_structures_domain_and_capability_and_what_would_help() -> None:
    outcomes = table([case(i) for i in range(4)], [[0, 1, 1], [0, 1, 1], [0, 0, 0], [1, 1, 1]])
    (line,) = recurring_errors(["S"] * 4, outcomes, 1e-6)
    assert line == "SOFTWARE/causal: 3 of 4 questions fail with S; R succeeds on 2 of them"


def test_a_failure_that_nothing_repairs_or_that_comes_once_is_no_recurring_error() -> None:
    assert recurring_errors(["S"] * 2, table([case(0), case(1)], [[0, 0, 0], [0, 0, 0]]), 1e-6) == ()
    assert recurring_errors(["S"] * 2, table([case(0), case(1)], [[0, 1, 1], [1, 1, 1]]), 1e-6) == ()


def test_an_outcome_that_is_an_error_is_no_failure() -> None:
    outcomes = table([case(i) for i in range(3)], [[math.nan, 1, 1], [math.nan, 1, 1], [1, 1, 1]])
    assert recurring_errors(["S"] * 3, outcomes, 1e-6) == ()


def test_needless_reading_is_an_error_too() -> None:
    outcomes = table([case(i) for i in range(3)], [[1, 0, 1]] * 3)
    (line,) = recurring_errors(["S+R"] * 3, outcomes, 1e-6)
    assert line == "SOFTWARE/causal: S+R reads 400 tokens for 1.00; S reads 100 for 1.00 (3 questions)"
    assert recurring_errors(["S"] * 3, outcomes, 1e-6) == ()


def test_what_most_failing_previews_have_in_common_is_told() -> None:
    empty = {"S": {"items": 1, "localised": False}, "R": {"items": 0, "localised": False}}
    outcomes = table([case(i, **empty) for i in range(3)], [[0, 0, 1]] * 3)
    (line,) = recurring_errors(["S"] * 3, outcomes, 1e-6)
    assert line.endswith("S+R succeeds on 3 of them; R found nothing for 3 of the 3")


def test_only_the_temporal_structure_is_blamed_for_not_localising_a_step() -> None:
    subsets = ("T", "R")
    cases = tuple(case(i, T={"items": 5, "localised": False}, R={"items": 3, "localised": False}) for i in range(2))
    outcomes = OutcomeTable(cases, subsets, np.array([[0.0, 1.0]] * 2), np.ones((2, 2)))
    (line,) = recurring_errors(["T"] * 2, outcomes, 1e-6)
    assert line.endswith("R succeeds on 2 of them; T localised no step for 2 of the 2")


def test_the_costliest_error_comes_first_and_only_so_many_are_told() -> None:
    cases = [case(i, f"domain-{i // 10}") for i in range(100)]
    scores = [[0, float(i % 10 <= i // 10), 0] for i in range(100)]
    lines = recurring_errors(["S"] * 100, table(cases, scores), 1e-6, ErrorConfig(limit=3))
    assert [line.split(":")[0] for line in lines] == ["domain-9/causal", "domain-8/causal", "domain-7/causal"]


def test_no_text_of_a_question_a_preview_or_an_id_is_told() -> None:
    preview = {"items": 0, "n_tokens": 7, "head": "SECRET head", "localised": False, "steps": [123456]}
    outcomes = table([case(i, S=preview, R=preview) for i in range(6)], [[0, 1, 1]] * 6)
    text = " ".join(recurring_errors(["S"] * 6, outcomes, 1e-6))
    assert "SOFTWARE" in text
    assert not [word for word in ("SECRET", "123456", "d/e", "question 0") if word in text]


def test_without_domain_and_capability_an_error_is_about_all_questions() -> None:
    cases = [Case(f"d/e/{i}", "?", {}) for i in range(2)]
    (line,) = recurring_errors(["S"] * 2, table(cases, [[0, 1, 1]] * 2), 1e-6)
    assert line.startswith("all questions: 2 of 2 questions fail with S")


def test_the_worst_cell_is_where_a_fixed_subset_would_gain_most_in_sum() -> None:
    cases = [case(i, "WEB" if i < 6 else "Game", "recall") for i in range(8)]
    scores = [[0.5, 1, 1]] * 6 + [[0, 1, 1]] * 2
    assert worst_cell(["S"] * 8, table(cases, scores), 0.0) == ("WEB", "recall")
    assert worst_cell(["R"] * 6 + ["S"] * 2, table(cases, scores), 0.0) == ("Game", "recall")


def test_a_cell_without_outcomes_is_not_the_worst() -> None:
    cases = [case(0, "WEB"), case(1, "Game")]
    outcomes = table(cases, [[math.nan, 1, 1], [0, 0, 0]])
    assert worst_cell(["S", "S"], outcomes, 0.0) == ("Game", "causal")
    assert worst_cell(["S"], table(cases[:1], [[math.nan] * 3]), 0.0) is None


def test_selections_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="1 selections for 2 questions"):
        recurring_errors(["S"], table([case(0), case(1)], [[0, 1, 1]] * 2), 1e-6)
