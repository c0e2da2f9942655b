"""The signals of events: what a column means, and what they must not depend on."""

from __future__ import annotations

import gc
from datetime import UTC, datetime

import numpy as np
import pytest

from storage.structures.event_links import LinkConfig, link
from storage.structures.event_lookup import lookup
from storage.structures.event_signals import SIGNALS, signals
from storage.structures.events import EventGraph
from tests.storage.structures.events_of import Said, nodes_of, random_nodes
from tests.storage.structures.linked_events import linked, permuted

MAY = datetime(2023, 5, 8, tzinfo=UTC)
TALK = [
    Said("Ann: Did you paint the lake?", "Ann", 1, MAY, axes=(0,)),
    Said("Bo: Painting it took two days, yesterday I was done.", "Bo", 1, MAY, axes=(1,)),
    Said("Ann: Nice weather.", "Ann", 1, MAY, axes=(2,)),
    Said("Bo: Hello again!", "Bo", 2, datetime(2023, 8, 1, tzinfo=UTC), axes=(3,)),
]


def asked(axis: int, size: int = 32) -> np.ndarray:
    vector = np.zeros(size, dtype=np.float32)
    vector[axis] = 1
    return vector


def column(name: str, graph: EventGraph, text: str, axis: int = 0, intent: str = "general") -> list[float]:
    values = signals(graph, text, asked(axis), intent)[:, SIGNALS.index(name)]
    return [round(float(value), 4) for value in values]


def test_there_is_one_row_per_event_and_one_column_per_name() -> None:
    assert signals(nodes_of(TALK), "Who painted?", asked(0), "entity").shape == (4, len(SIGNALS))
    assert len(set(SIGNALS)) == len(SIGNALS)


def test_dense_is_the_cosine_and_its_rank_that_of_the_event() -> None:
    assert column("dense_value", nodes_of(TALK), "x", axis=1) == [0, 1, 0, 0]
    assert column("dense_rank", nodes_of(TALK), "x", axis=1) == [0.7071, 1, 0.7071, 0.7071]


def test_stems_match_other_forms_of_a_word() -> None:
    assert column("stemmed_value", nodes_of(TALK), "day") == [0, 1, 0, 0]
    assert column("plain_value", nodes_of(TALK), "day") == [0, 0, 0, 0]


def test_neighbours_are_those_of_the_same_session() -> None:
    graph = nodes_of(TALK)
    own = column("stemmed_value", graph, "weather")
    assert column("stemmed_before", graph, "weather") == [0, own[0], own[1], 0]
    assert column("stemmed_after", graph, "weather") == [own[1], own[2], 0, 0]
    assert column("stemmed_session_best", graph, "weather") == [1, 1, 1, 0]


def test_an_edge_carries_the_score_of_its_source() -> None:
    graph = linked(TALK, {(2, 3): (0, 0.5, 0, 0), (2, 0): (0, 0, 0, 0.5)})
    own = column("stemmed_value", graph, "weather")
    assert column("stemmed_semantic", graph, "weather") == [0, 0, 0, own[2]]
    assert column("stemmed_entity", graph, "weather") == [own[2], 0, 0, 0]


def test_an_event_covers_with_its_neighbours_what_it_does_not_cover_alone() -> None:
    graph = nodes_of(TALK)
    assert column("covered", graph, "lake weather") == [0.5, 0, 0.5, 0]
    assert column("covered_1", graph, "lake weather") == [0.5, 1, 0.5, 0]
    assert column("covered_2", graph, "lake weather") == [1, 1, 1, 0]


def test_who_speaks_is_told_from_the_names_in_the_question() -> None:
    graph = nodes_of(TALK)
    assert column("speaker_named", graph, "What did Bo paint?") == [0, 1, 0, 1]
    assert column("nobody_named", graph, "What was painted?") == [1, 1, 1, 1]


def test_the_turn_after_a_question_answers() -> None:
    assert column("asks", nodes_of(TALK), "x") == [1, 0, 0, 0]
    assert column("answers", nodes_of(TALK), "x") == [0, 1, 0, 0]


def test_a_date_names_its_turns_and_those_that_speak_of_it() -> None:
    assert column("named", nodes_of(TALK), "What happened on 8 May 2023?") == [1, 1, 1, 0]
    assert column("named", nodes_of(TALK), "What happened on 7 May 2023?") == [0, 1, 0, 0]


def test_a_step_is_named_by_its_label() -> None:
    assert column("named", nodes_of([Said("a"), Said("b"), Said("c")]), "What happened at step 4?") == [0, 0, 1]


def test_a_relative_date_counts_where_a_time_is_asked_for() -> None:
    assert column("told_asked", nodes_of(TALK), "When did Bo finish?", intent="temporal") == [0, 1, 0, 0]
    assert column("told_asked", nodes_of(TALK), "Who is Bo?", intent="entity") == [0, 0, 0, 0]


@pytest.mark.parametrize("kind", ["conversation", "trajectory"])
def test_the_order_of_the_arrays_changes_nothing(kind: str) -> None:
    graph = link(random_nodes(60, 3, kind), "conversation", LinkConfig())
    order = np.random.default_rng(0).permutation(60)
    vector = graph.vectors[7]
    first = signals(graph, "Why did Ann see w3?", vector, "causal")
    second = signals(permuted(graph, order), "Why did Ann see w3?", vector, "causal")
    np.testing.assert_array_equal(first[order], second)


def test_equal_questions_have_equal_signals() -> None:
    graph = link(random_nodes(40, 1), "conversation", LinkConfig())
    again = link(random_nodes(40, 1), "conversation", LinkConfig())
    first, second = (signals(g, "Fine?", graph.vectors[0], "general") for g in (graph, again))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("text", ["", "?!", "日本", "zzz"], ids=repr)
@pytest.mark.parametrize("events", [[Said("one")], [Said(""), Said("")]], ids=["one", "empty texts"])
def test_strange_questions_and_tiny_graphs_have_finite_signals(text: str, events: list[Said]) -> None:
    assert np.isfinite(signals(nodes_of(events), text, asked(3) * 0, "general")).all()


def test_a_vector_of_another_encoder_is_refused_by_name_and_size() -> None:
    with pytest.raises(ValueError, match=r"e: the question's vector .*\(5,\).*32"):
        signals(nodes_of(TALK), "x", np.zeros(5, np.float32), "general")


def test_what_is_prepared_lives_as_long_as_the_graph() -> None:
    graph = nodes_of(TALK)
    assert lookup(graph) is lookup(graph)
    from storage.structures.event_lookup import _LOOKUPS

    key = id(graph)
    assert key in _LOOKUPS
    del graph
    gc.collect()
    assert key not in _LOOKUPS
