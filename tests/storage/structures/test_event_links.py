"""The edges of event graphs, worked out by hand, and what must hold for any episode."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from storage.structures.event_links import PER_EVENT, Kind, LinkConfig, extend, head, link
from storage.structures.event_neighbours import entity_pairs, semantic_pairs
from storage.structures.events import RELATIONS, EventGraph
from tests.storage.structures.events_of import Said, nodes_of, random_nodes

MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
KINDS: tuple[Kind, ...] = ("conversation", "trajectory", "passages")


def edges(graph: EventGraph, relation: str) -> dict[tuple[int, int], float]:
    """(source, target) by position, with the strength of one relation where it holds."""
    column = RELATIONS.index(relation)
    found = zip(graph.source.tolist(), graph.target.tolist(), graph.features[:, column].tolist(), strict=True)
    return {(source, target): strength for source, target, strength in found if strength > 0}


def approx(expected: dict[tuple[int, int], float]) -> object:
    return pytest.approx(expected, abs=1e-3)


def test_turns_close_in_time_are_linked_both_ways_and_neighbours_always() -> None:
    days = [0, 0, 0, 3]
    nodes = nodes_of([Said("x", "Ann", session=d, at=MAY + timedelta(days=d)) for d in days])
    graph = link(nodes, "conversation", LinkConfig(window=2))
    one_way = {(0, 1): 1.0, (1, 2): 1.0, (0, 2): 0.5, (2, 3): 0.25}  # (1, 3) lie three days apart
    assert edges(graph, "temporal") == approx(one_way | {(b, a): s for (a, b), s in one_way.items()})


def test_a_gap_of_exactly_a_day_is_close_and_a_longer_one_is_not() -> None:
    times = [MAY, MAY + timedelta(hours=12), MAY + timedelta(hours=24), MAY + timedelta(hours=36, seconds=1)]
    graph = link(nodes_of([Said("x", at=at) for at in times]), "trajectory", LinkConfig(window=2))
    assert edges(graph, "temporal")[0, 2] == pytest.approx(0.25)
    assert (1, 3) not in edges(graph, "temporal")


def test_undated_events_are_close_within_their_session() -> None:
    graph = link(nodes_of([Said("x", session=s) for s in (1, 1, 1, 2)]), "conversation", LinkConfig(window=2))
    assert {e for e in edges(graph, "temporal") if e[0] < e[1]} == {(0, 1), (1, 2), (0, 2), (2, 3)}


def test_a_reply_follows_from_the_other_speakers_turn_and_more_so_from_a_question() -> None:
    turns = [
        ("Ann", "Where were you?", 1),
        ("Bo", "At home.", 1),
        ("Bo", "And you?", 1),
        ("Ann", "Out.", 1),
        ("Bo", "Hi!", 2),
    ]
    graph = link(nodes_of([Said(text, who, session) for who, text, session in turns]), "conversation", LinkConfig())
    assert edges(graph, "causal") == {(0, 1): 1.0, (2, 3): 1.0}
    plain = link(nodes_of([Said("Hm.", "Ann", 1), Said("Ok.", "Bo", 1)]), "conversation", LinkConfig(response=0.4))
    assert edges(plain, "causal") == approx({(0, 1): 0.4})


def test_questions_in_other_scripts_are_questions() -> None:
    graph = link(nodes_of([Said("元気ですか？", "A", 1), Said("はい", "B", 1)]), "conversation", LinkConfig())
    assert edges(graph, "causal") == {(0, 1): 1.0}


def test_a_step_leads_to_the_next_one_and_a_failed_one_to_the_next_attempt_at_the_same_thing() -> None:
    door, key = ("door",), ("key",)
    steps = [
        Said("open door\nerror: it is locked", entities=door),
        Said("look\na room", entities=key),
        Said("take key\nyou hold it", entities=key),
        Said("open door\nit opens", entities=door),
        Said("open door\nagain", entities=door),
    ]
    graph = link(nodes_of(steps), "trajectory", LinkConfig(effect=0.5))
    assert edges(graph, "causal") == approx({(0, 1): 0.5, (1, 2): 1.0, (2, 3): 0.5, (3, 4): 1.0, (0, 3): 1.0})
    near = link(nodes_of(steps), "trajectory", LinkConfig(attempt_reach=2))
    assert (0, 3) not in edges(near, "causal")


def test_each_event_is_linked_to_the_most_similar_earlier_ones() -> None:
    axes = [(0,), (0, 1), (2,), (0,), (0, 1)]
    config = LinkConfig(neighbours=1, min_cosine=0.5)
    graph = link(nodes_of([Said("x", axes=a) for a in axes]), "conversation", config)
    root = 0.5**0.5
    expected = {
        (0, 1): root,
        (0, 3): 1.0,
        (1, 4): 1.0,
        (1, 2): 0.01,
    }  # 2 resembles nothing: its nearest, the latest of equals
    assert edges(graph, "semantic") == approx(expected | {(b, a): s for (a, b), s in expected.items()})


def test_similar_events_beyond_the_horizon_are_not_seen() -> None:
    vectors = nodes_of([Said("x", axes=a) for a in [(0,), (1,), (2,), (0,)]]).vectors
    assert set(zip(*semantic_pairs(vectors, 0, 1, 0.5, horizon=3)[:2], strict=True)) >= {(0, 3)}
    assert not set(zip(*semantic_pairs(vectors, 0, 3, 0.5, horizon=2)[:2], strict=True)) & {(0, 3)}


def test_cosines_are_those_of_the_vectors_in_any_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = random_nodes(300, seed=5).vectors
    whole = semantic_pairs(vectors, 0, 3, 0.2, horizon=100)
    exact = np.einsum("ij,ij->i", vectors[whole.earlier], vectors[whole.later])
    np.testing.assert_allclose(whole.strength, np.maximum(exact, 0.01), atol=2e-3)
    monkeypatch.setattr("storage.structures.event_neighbours._BLOCK", 7)
    for a, b in zip(*(_sorted(p) for p in (whole, semantic_pairs(vectors, 0, 3, 0.2, horizon=100))), strict=True):
        np.testing.assert_array_equal(a, b)


def _sorted(pairs: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    order = np.lexsort((pairs[0], pairs[1]))
    return [column[order] for column in pairs]


def test_events_that_share_rare_entities_are_linked() -> None:
    names = [("kayak", "lake"), ("kayak",), (), ("lake", "kayak"), ("lake",)]
    found = entity_pairs(names, 0, links=1, mentions=4, min_hub=8, hub_share=0.0)
    strengths = {(int(a), int(b)): float(s) for a, b, s in zip(*found, strict=True)}
    # at event 3, lake is mentioned a second time (weight 1), kayak a third time (1 / (1 + ln 2))
    assert strengths == approx({(0, 1): 1.0, (0, 3): 1.0, (3, 4): 1 / (1 + np.log(2))})


def test_an_entity_that_everything_mentions_links_nothing() -> None:
    names = [("ann",)] * 30
    found = entity_pairs(names, 0, links=1, mentions=1, min_hub=4, hub_share=0.1)
    assert sorted(found.later.tolist()) == [1, 2, 3, 4]


def test_parallel_relations_are_one_edge_with_its_vector() -> None:
    turns = [Said("Tea?", "Ann", 1, MAY, ("tea",), (0,)), Said("Tea!", "Bo", 1, MAY, ("tea",), (0,))]
    graph = link(nodes_of(turns), "conversation", LinkConfig())
    assert list(zip(graph.source.tolist(), graph.target.tolist(), strict=True)) == [(0, 1), (1, 0)]
    assert graph.features.tolist() == [[1, 1, 1, 1], [1, 1, 0, 1]]


def test_the_papers_features_say_only_which_relations_hold() -> None:
    nodes = random_nodes(60, seed=1)
    graded = link(nodes, "conversation", LinkConfig())
    hot = link(nodes, "conversation", LinkConfig(one_hot=True))
    np.testing.assert_array_equal(hot.features, (graded.features > 0).astype(np.float32))


def test_passages_have_no_temporal_and_no_causal_edges_and_stay_connected() -> None:
    graph = link(random_nodes(10, seed=2, kind="passages"), "passages", LinkConfig(min_cosine=0.99))
    assert not edges(graph, "temporal")
    assert not edges(graph, "causal")
    assert reached(graph) == set(range(10))


def reached(graph: EventGraph) -> set[int]:
    seen, todo = {0}, [0]
    while todo:
        for target in graph.target[graph.source == todo.pop()].tolist():
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("one_hot", [False, True])
def test_a_graph_is_well_formed_and_every_event_is_reached(kind: Kind, one_hot: bool) -> None:
    graph = link(random_nodes(90, seed=3, kind=kind), kind, LinkConfig(one_hot=one_hot))
    assert graph.source.dtype == graph.target.dtype == np.int32
    assert graph.features.dtype == np.float32
    assert graph.features.shape == (len(graph.source), len(RELATIONS))
    assert ((graph.features >= 0) & (graph.features <= 1)).all()
    assert (graph.features.max(axis=1) > 0).all()
    keys = graph.source.astype(np.int64) * len(graph) + graph.target
    assert (np.diff(keys) > 0).all()  # sorted, no duplicates
    assert (graph.source != graph.target).all()
    assert reached(graph) == set(range(90))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", [LinkConfig(), LinkConfig(one_hot=True, window=3, horizon=20, hub_share=0.05)])
def test_extending_a_graph_gives_what_linking_everything_gives(kind: Kind, config: LinkConfig) -> None:
    nodes = random_nodes(120, seed=4, kind=kind)
    whole = link(nodes, kind, config)
    for cuts in ([0], [1], [50], [119], [120], [7, 8, 9, 60]):
        graph = part(nodes, 0, cuts[0])
        graph = link(graph, kind, config)
        for start, stop in zip(cuts, [*cuts[1:], len(nodes)], strict=True):
            before = graph
            graph = extend(graph, part(nodes, start, stop), kind, config)
            assert_equal(head(graph, start), before)  # no edge among old events has changed
        assert_equal(graph, whole)


def part(nodes: EventGraph, start: int, stop: int) -> EventGraph:
    return dataclasses.replace(nodes, **{name: getattr(nodes, name)[start:stop] for name in PER_EVENT})


def assert_equal(one: EventGraph, other: EventGraph) -> None:
    for field in dataclasses.fields(EventGraph):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b, err_msg=field.name)
        else:
            assert a == b, field.name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_episodes_are_fine(kind: Kind, count: int) -> None:
    graph = link(nodes_of([Said("x")] * count), kind, LinkConfig())
    assert (len(graph), len(graph.source)) == (count, 2 if count == 2 else 0)


def test_new_events_must_come_after_the_old_ones_and_be_of_the_same_kind_of_vector() -> None:
    graph = link(nodes_of([Said("x"), Said("y")]), "conversation", LinkConfig())
    with pytest.raises(ValueError, match="'e': new steps must come after step 2"):
        extend(graph, nodes_of([Said("z")], first_step=2), "conversation", LinkConfig())
    with pytest.raises(ValueError, match="32 and 8 numbers"):
        extend(graph, nodes_of([Said("z")], dimension=8, first_step=4), "conversation", LinkConfig())
    with pytest.raises(ValueError, match="'f' cannot extend the graph of 'e'"):
        extend(graph, nodes_of([Said("z")], first_step=4, episode_id="f"), "conversation", LinkConfig())
