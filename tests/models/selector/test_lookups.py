from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.selector.contract import Case, OutcomeTable
from models.selector.lookups import (
    ANY,
    KINDS,
    SizeShares,
    best_by,
    domain_and_capability,
    fit_lookup,
    joined,
    letters_of,
    objectives,
    oracle,
    route_to_one,
    shares_of_groups,
    shares_of_questions,
    singles,
)

SUBSETS = ("S", "T", "S+T")


def case(name: str, domain: str = "WEB", capability: str = "recall", **context: Any) -> Case:
    return Case(f"d/{name}/0", "What happened?", {"domain": domain, "capability": capability, **context})


def outcomes(
    cases: Sequence[Case], scores: Sequence[Sequence[float]], tokens: Sequence[float] = (10, 20, 30)
) -> OutcomeTable:
    return OutcomeTable(
        tuple(cases), SUBSETS, np.array(scores, dtype=float), np.tile(np.array(tokens, float), (len(cases), 1))
    )


def test_the_structures_of_a_table_are_in_the_fixed_order() -> None:
    table = OutcomeTable((case("a"),), ("R", "S+R", "S"), np.zeros((1, 3)), np.zeros((1, 3)))
    assert letters_of(table) == ("S", "R")
    assert singles(table) == ("R", "S")


def test_an_objective_is_the_score_less_the_price_of_the_tokens_and_an_error_has_none() -> None:
    found = objectives(outcomes([case("a")], [[1.0, 0.5, math.nan]]), cost=0.01)
    assert found[0, :2] == pytest.approx([0.9, 0.3])
    assert np.isnan(found[0, 2])


def test_the_global_lookup_is_the_best_fixed_subset() -> None:
    table = outcomes([case("a"), case("b", "Game")], [[1, 0, 1], [0, 1, 1]])
    assert fit_lookup(table, 0.0, "global").cells == {(ANY, ANY): "S+T"}
    assert fit_lookup(table, 0.03, "global").select(case("c")) == "S"


def test_each_kind_of_lookup_chooses_by_what_it_looks_at() -> None:
    cases = [
        case("a", "WEB", "recall"),
        case("b", "WEB", "causal"),
        case("c", "Game", "recall"),
        case("d", "Game", "causal"),
    ]
    table = outcomes(cases, [[1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])
    chosen = {kind: [fit_lookup(table, 0.0, kind).select(c) for c in cases] for kind in KINDS}
    assert chosen["global"] == ["S"] * 4
    assert chosen["domain"] == ["S", "S", "T", "T"]
    assert chosen["capability"] == ["S", "S", "S", "S"]
    assert chosen["domain_capability"] == ["S", "S", "S+T", "T"]


def test_a_cell_that_validation_lacks_is_looked_up_coarser() -> None:
    table = outcomes([case("a", "WEB", "recall"), case("b", "Game", "causal")], [[0, 1, 0], [0, 0, 1]])
    lookup = fit_lookup(table, 0.0, "domain_capability")
    assert lookup.select(case("x", "WEB", "causal")) == "T"  # the domain before the capability
    assert lookup.select(case("x", "SOFTWARE", "causal")) == "S+T"
    assert lookup.select(case("x", "SOFTWARE", "update")) == "T"
    assert lookup.select(Case("d/x/0", "?", {})) == "T"


def test_a_cell_of_errors_only_is_looked_up_coarser() -> None:
    table = outcomes([case("a", "WEB"), case("b", "Game")], [[math.nan] * 3, [0, 1, 0]])
    assert fit_lookup(table, 0.0, "domain").select(case("x", "WEB")) == "T"


def test_an_error_is_no_wrong_answer_in_a_mean() -> None:
    table = outcomes([case("a"), case("b")], [[1, 0.6, 0], [math.nan, 0.6, 0]])
    assert fit_lookup(table, 0.0, "global").select(case("x")) == "S"


def test_of_equal_subsets_the_one_with_fewer_tokens_is_best() -> None:
    table = outcomes([case("a")], [[1, 1, 1]], tokens=(30, 10, 20))
    assert fit_lookup(table, 0.0, "global").select(case("x")) == "T"
    assert oracle(table, 0.0) == ("T",)


def test_a_lookup_without_any_outcome_is_refused() -> None:
    with pytest.raises(ValueError, match="outcomes without error"):
        fit_lookup(outcomes([case("a")], [[math.nan] * 3]), 0.0, "global")


def test_route_to_one_knows_single_structures_only_and_learns_from_both_parts() -> None:
    train = outcomes([case("a"), case("b")], [[0, 1, 1], [0, 1, 1]])
    validation = outcomes([case("c")], [[1, 0, 1]])
    lookup = route_to_one(train, validation, 0.0)
    assert lookup.select(case("x")) == "T"
    assert set(lookup.cells.values()) <= set(SUBSETS[:2])


def test_tables_of_different_subsets_are_not_joined() -> None:
    table = outcomes([case("a")], [[0, 0, 0]])
    other = OutcomeTable((case("b"),), ("S",), np.zeros((1, 1)), np.zeros((1, 1)))
    assert len(joined([table, table]).cases) == 2
    with pytest.raises(ValueError, match="different subsets"):
        joined([table, other])


def test_the_oracle_takes_each_questions_best_and_reads_everything_where_all_failed() -> None:
    table = outcomes([case(c) for c in "abcd"], [[1, 0, 1], [0, 0, 1], [0, math.nan, 0], [math.nan] * 3])
    assert oracle(table, 1e-6) == ("S", "S+T", "S", "S+T")


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, math.nan]), min_size=3, max_size=3), min_size=1, max_size=12))
def test_no_lookup_beats_the_oracle(scores: list[list[float]]) -> None:
    table = outcomes([case(str(i), f"d{i % 2}", f"c{i % 3}") for i in range(len(scores))], scores)
    values = objectives(table, 0.001)

    def total(chosen: Sequence[str]) -> float:
        cells = values[np.arange(len(chosen)), [SUBSETS.index(subset) for subset in chosen]]
        return float(np.where(np.isnan(cells), -1, cells).sum())

    best = total(oracle(table, 0.001))
    if np.isfinite(values).any():
        for kind in KINDS:
            lookup = fit_lookup(table, 0.001, kind)
            assert total([lookup.select(c) for c in table.cases]) <= best + 1e-9


def test_the_analysis_names_the_best_subset_of_each_category_with_its_numbers() -> None:
    table = outcomes([case("a"), case("b"), case("c", "Game")], [[1, 0, 0], [0.5, 0, 0], [0, 0, 1]])
    game, web = best_by(table, 0.0, "domain")
    assert (web.cell, web.subset, web.score, web.tokens, web.n) == (("WEB", ANY), "S", 0.75, 10, 2)
    assert (game.cell, game.subset) == (("Game", ANY), "S+T")
    assert shares_of_groups([game, web], table) == SizeShares(single=1, intermediate=0, full=1)


def test_a_question_that_nothing_answers_prefers_no_size() -> None:
    table = outcomes([case("a"), case("b"), case("c")], [[0, 1, 0], [0, 0, 1], [0, 0, math.nan]])
    shares = shares_of_questions(table, 1e-6)
    assert shares == SizeShares(single=1, intermediate=0, full=1, undecided=1)
    assert shares.n == 2


def test_an_intermediate_subset_is_neither_single_nor_full() -> None:
    subsets = ("S", "S+T", "S+T+G")
    table = OutcomeTable((case("a"),), subsets, np.array([[0.0, 1.0, 1.0]]), np.array([[1.0, 2.0, 3.0]]))
    assert shares_of_questions(table, 0.0) == SizeShares(single=0, intermediate=1, full=0)


def test_a_context_without_metadata_has_an_empty_cell() -> None:
    assert domain_and_capability(Case("d/a/0", "?", {"domain": None})) == ("", "")
