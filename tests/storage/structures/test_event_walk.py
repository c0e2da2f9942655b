"""The walk: worked out by hand on small graphs, and the properties that every walk has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from storage.structures.event_links import LinkConfig, link
from storage.structures.event_ranking import baseline_orders, fuse, ranked
from storage.structures.event_walk import WalkConfig, static_weights, traverse
from storage.structures.events import EventGraph, Judgement
from tests.storage.structures.events_of import Said, random_nodes
from tests.storage.structures.linked_events import linked, permuted

STRONG = (1.0, 0.0, 0.0, 0.0)
CHAIN = linked(
    [Said(name, axes=(i,)) for i, name in enumerate("abcd")],
    {(0, 1): STRONG, (0, 2): STRONG, (1, 3): STRONG, (2, 3): STRONG},
)
QUESTION = np.eye(32, dtype=np.float32)[0]
ONE_ANCHOR = WalkConfig(anchors=1, hops=5, budget=4)


def judged(graph: EventGraph, edges: list[float], nodes: list[float] | None = None) -> Judgement:
    values = np.zeros(len(graph)) if nodes is None else np.array(nodes)
    return Judgement(values.astype(np.float32), np.array(edges, dtype=np.float32))


def test_a_walk_goes_to_the_best_edge_first_and_scores_it_by_equation_9() -> None:
    walk = traverse(CHAIN, "x", QUESTION, "general", judged(CHAIN, [0.4, 0.2, 0.1, 0.3]), ONE_ANCHOR)
    # start a: 0.5 * cos 1; b: 0.5 * 0 + 0.5 * 0.4; then c by a (0.1) or d by b (0.05); then d by c (0.15)
    assert dict(zip(walk.order, np.round(walk.scores, 4).tolist(), strict=True)) == {0: 0.5, 1: 0.2, 3: 0.15, 2: 0.1}
    assert walk.order == (0, 1, 3, 2)
    assert walk.parent == {1: 0, 2: 0, 3: 2}


def test_an_opinion_on_events_adds_to_the_score() -> None:
    walk = traverse(CHAIN, "x", QUESTION, "general", judged(CHAIN, [0.4, 0.2, 0.1, 0.3], [0, 0, 1, 0]), ONE_ANCHOR)
    assert walk.order[:2] == (2, 0)
    assert walk.scores[0] == pytest.approx(1.1)


def test_a_walk_ends_when_the_budget_is_spent() -> None:
    walk = traverse(CHAIN, "x", QUESTION, "general", judged(CHAIN, [0.4, 0.2, 0.1, 0.3]), replace(ONE_ANCHOR, budget=2))
    assert walk.order == (0, 1)


def test_a_walk_goes_no_further_from_its_anchor_than_it_may() -> None:
    walk = traverse(CHAIN, "x", QUESTION, "general", judged(CHAIN, [0.4, 0.2, 0.1, 0.3]), replace(ONE_ANCHOR, hops=1))
    assert sorted(walk.order) == [0, 1, 2]


def test_a_narrow_beam_forgets_the_worst_of_the_frontier() -> None:
    walk = traverse(CHAIN, "x", QUESTION, "general", judged(CHAIN, [0.4, 0.2, 0.1, 0.3]), replace(ONE_ANCHOR, beam=1))
    assert sorted(walk.order) == [0, 1, 3]


def test_of_equal_scores_the_lower_step_comes_first() -> None:
    walk = traverse(CHAIN, "x", QUESTION, "general", judged(CHAIN, [0.3, 0.3, 0.3, 0.3]), ONE_ANCHOR)
    assert walk.order == (0, 1, 2, 3)


def test_to_the_fixed_rules_an_anchor_counts_as_reached_by_an_edge_of_mean_weight() -> None:
    walk = traverse(CHAIN, "x", QUESTION, "temporal", None, replace(ONE_ANCHOR, budget=1))
    # best by rank (1) and by cosine (0.5 * 1); every edge is temporal, of weight 1
    assert walk.scores == (pytest.approx(1 + 0.5 + 0.5 * 1),)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("learned", [True, False])
def test_no_event_is_visited_twice_and_every_parent_was_visited(seed: int, learned: bool) -> None:
    graph = link(random_nodes(80, seed), "conversation", LinkConfig())
    rng = np.random.default_rng(seed)
    judgement = Judgement(rng.normal(size=80).astype(np.float32), rng.random(len(graph.source)).astype(np.float32))
    config = WalkConfig(anchors=3, hops=6, budget=50)
    walk = traverse(graph, "Why, Ann?", graph.vectors[seed], "causal", judgement if learned else None, config)
    assert len(walk.order) == len(set(walk.order)) > 3
    edges = set(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    assert walk.parent
    for node, origin in walk.parent.items():
        assert (origin, node) in edges
        assert {node, origin} <= set(walk.order)
    assert list(walk.scores) == sorted(walk.scores, reverse=True)


@pytest.mark.parametrize("learned", [True, False])
def test_the_order_of_the_arrays_changes_nothing(learned: bool) -> None:
    graph = link(random_nodes(60, 3), "conversation", LinkConfig())
    order = np.random.default_rng(0).permutation(60)
    other = permuted(graph, order)
    edge = {pair: i for i, pair in enumerate(zip(graph.source.tolist(), graph.target.tolist(), strict=True))}
    rng = np.random.default_rng(1)
    nodes, edges = rng.normal(size=60).astype(np.float32), rng.random(len(edge)).astype(np.float32)
    moved = [edge[int(order[s]), int(order[t])] for s, t in zip(other.source, other.target, strict=True)]
    judgements = (Judgement(nodes, edges), Judgement(nodes[order], edges[moved])) if learned else (None, None)
    config = WalkConfig(anchors=4, hops=4, budget=30)
    walks = [
        traverse(g, "Why did Ann see it?", graph.vectors[9], "causal", judgement, config)
        for g, judgement in zip((graph, other), judgements, strict=True)
    ]
    assert walks[0].scores == walks[1].scores
    assert [graph.steps[i] for i in walks[0].order] == [other.steps[i] for i in walks[1].order]
    parents = [
        {int(g.steps[i]): int(g.steps[j]) for i, j in w.parent.items()} for g, w in zip((graph, other), walks, strict=True)
    ]
    assert parents[0] == parents[1]


def test_fixed_rules_follow_the_relation_that_is_asked_for() -> None:
    features = np.array([[1, 0, 0, 0], [0, 0, 1, 0]], dtype=np.float32)
    by_time, by_cause = static_weights(features, "temporal"), static_weights(features, "causal")
    assert by_time[0] > by_time[1]
    assert by_cause[1] > by_cause[0]


def test_a_graph_without_edges_is_ranked_and_one_without_events_gives_nothing() -> None:
    alone = linked([Said("lake"), Said("weather"), Said("hill")], {})
    assert traverse(alone, "weather?", QUESTION * 0, "general", None, ONE_ANCHOR).order == (1,)
    empty = linked([], {})
    assert traverse(empty, "x", QUESTION, "general").order == ()


def test_a_judgement_of_another_graph_is_refused() -> None:
    with pytest.raises(ValueError, match="e: the router judged another graph: 4 events and 1 edges, not 4 and 4"):
        traverse(CHAIN, "x", QUESTION, "general", judged(CHAIN, [0.1]))


@pytest.mark.parametrize(
    ("vector", "intent", "message"), [(QUESTION[:3], "general", "32 numbers"), (QUESTION, "whim", "whim")]
)
def test_a_wrong_vector_or_intent_is_refused(vector: np.ndarray, intent: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        traverse(CHAIN, "x", vector, intent)


def test_fusion_sums_reciprocal_ranks_and_equal_scores_share_theirs() -> None:
    assert ranked(np.array([0.5, 0.9, 0.5, 0.1])).tolist() == [2, 1, 2, 4]
    np.testing.assert_allclose(fuse([np.array([2.0, 1.0]), np.array([3.0, 1.0])], 60), [2 / 61, 2 / 62])


def test_baselines_rank_by_cosine_by_words_and_by_both() -> None:
    graph = linked([Said("cold lake", axes=(1,)), Said("warm lake", axes=(0,)), Said("lake lake", axes=(2,))], {})
    orders = baseline_orders(graph, "warm", QUESTION)
    assert {name: int(order[0]) for name, order in orders.items()} == {"dense": 1, "bm25": 1, "fusion": 1}
    assert orders["dense"].tolist() == [1, 0, 2]
