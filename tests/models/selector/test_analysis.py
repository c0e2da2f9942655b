from __future__ import annotations

import numpy as np
import pytest

from models.selector.analysis import analyse, structure_use
from models.selector.contract import Case, OutcomeTable
from models.selector.lookups import ANY, KINDS

SUBSETS = ("S", "T", "S+T")


def case(name: str, domain: str, capability: str) -> Case:
    return Case(f"d/{name}/0", "?", {"domain": domain, "capability": capability})


def table(scores: list[list[float]]) -> OutcomeTable:
    cells = (("WEB", "recall"), ("WEB", "causal"), ("Game", "recall"), ("Game", "causal"))
    asked = tuple(case(name, *cell) for name, cell in zip("abcd", cells, strict=True))
    tokens = np.tile([1_000.0, 100.0, 1_100.0], (len(scores), 1))
    return OutcomeTable(asked[: len(scores)], SUBSETS, np.array(scores), tokens)


SCORES = [[0.9, 0.1, 0.9], [0.2, 0.3, 0.8], [0.5, 0.6, 0.6], [0.1, 0.0, 0.1]]


def test_a_group_knows_the_best_by_objective_and_by_score() -> None:
    groups = {group.cell: group for group in analyse(table(SCORES), 1e-3).groups["domain"]}
    assert set(groups) == {("WEB", ANY), ("Game", ANY)}
    assert (groups["Game", ANY].best.subset, groups["Game", ANY].top.subset) == ("T", "S+T")
    assert groups["WEB", ANY].scores == pytest.approx({"S": 0.55, "T": 0.2, "S+T": 0.85})
    assert groups["WEB", ANY].n == 2


def test_errors_are_in_no_mean() -> None:
    scores = [[float("nan"), 0.1, 0.9], *SCORES[1:]]
    found = analyse(table(scores), 0.0)
    by_name = {best.subset: best for best in found.subsets}
    assert (by_name["S"].n, by_name["T"].n) == (3, 4)
    assert by_name["S"].score == pytest.approx((0.2 + 0.5 + 0.1) / 3)


def test_a_subset_that_always_failed_is_left_out() -> None:
    scores = [[float("nan"), *row[1:]] for row in SCORES]
    found = analyse(table(scores), 0.0)
    assert [best.subset for best in found.subsets] == ["T", "S+T"]
    assert all("S" not in group.scores for kind in KINDS for group in found.groups[kind])


def test_the_oracle_is_the_cheapest_of_the_best_of_each_question() -> None:
    assert analyse(table(SCORES), 0.0).oracle == pytest.approx((0.6, (1_000 + 1_100 + 100 + 1_000) / 4))


def test_a_sweep_reads_the_best_subset_of_each_cell() -> None:
    use = analyse(table(SCORES), 0.0).use
    assert [found.cell for found in use] == [
        ("Game", "causal"),
        ("Game", "recall"),
        ("WEB", "causal"),
        ("WEB", "recall"),
        (ANY, ANY),
    ]
    assert use[2].shares == {"S": 1.0, "T": 1.0}
    assert (use[-1].shares, use[-1].n_structures) == ({"S": 0.75, "T": 0.5}, 1.25)


def test_nothing_answered_says_nothing() -> None:
    found = analyse(table([[float("nan")] * 3]).part([]), 0.0)
    assert (found.subsets, found.oracle, found.use) == ((), None, ())
    assert set(found.groups) == set(KINDS)


def test_use_of_one_cell_needs_no_total() -> None:
    assert [use.cell for use in structure_use([case("a", "x", "y")], ["S"])] == [("x", "y")]
