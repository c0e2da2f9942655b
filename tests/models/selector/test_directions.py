from __future__ import annotations

import re

import pytest

from models.selector.directions import AXES, DIRECTIONS, Direction, direction_named

PAPER = {
    "A": ["capability_prior", "domain_task_prior", "lexical_demand", "query_decomposition"],
    "B": ["marginal_value", "conditional_value", "hierarchical_shrinkage", "learned_gating"],
    "C": ["independent_gating", "cardinality_first", "forward_selection", "complementarity"],
    "D": ["evidence_availability", "evidence_relevance", "evidence_coverage", "evidence_redundancy"],
    "E": ["confidence_fallback", "disagreement_policy", "parsimony", "support_aware"],
}


def test_the_directions_are_the_papers_in_its_order() -> None:
    assert [d.name for d in DIRECTIONS] == [name for names in PAPER.values() for name in names]
    assert [d.number for d in DIRECTIONS] == list(range(1, 21))


def test_every_direction_stands_on_its_axis() -> None:
    assert {axis: [d.name for d in DIRECTIONS if d.axis == axis] for axis in AXES} == PAPER


@pytest.mark.parametrize("direction", DIRECTIONS, ids=lambda d: d.name)
def test_a_description_is_two_or_three_sentences_on_one_line(direction: Direction) -> None:
    assert 2 <= len(re.findall(r"[.](?:\s|$)", direction.description)) <= 3
    assert direction.description.endswith(".")
    assert "\n" not in direction.description
    assert "  " not in direction.description


@pytest.mark.parametrize("direction", DIRECTIONS, ids=lambda d: d.name)
def test_a_description_names_a_signal_but_no_structure_that_would_be_best(direction: Direction) -> None:
    assert re.match(r"The signals? (is|are) ", direction.description)
    assert not re.search(r"\b[STGVRH]\b", direction.description)


def test_an_unknown_direction_is_an_error_that_names_the_known_ones() -> None:
    assert direction_named("parsimony").number == 19
    with pytest.raises(KeyError, match=r"no prior direction 'luck'; known are capability_prior, "):
        direction_named("luck")
