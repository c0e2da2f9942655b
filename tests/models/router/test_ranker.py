"""The listwise ranker: its loss and its inputs by hand, and that it learns."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from models.router.exchange import edge_inputs, exchange_inputs, log_shares
from models.router.learner import TrainingState, learn
from models.router.pool import pool
from models.router.presets import RankerConfig
from models.router.questions import RouterQuestion, by_episode
from models.router.ranker import EDGE_INPUTS, FLOOR, listwise_loss
from models.router.ranker_learner import EventObjective, ListwiseLearner, recall_at
from models.router.ranking_data import RankedGraph, rank_graph
from storage.structures.event_lookup import lookup
from tests.models.router.walking import GRAPH, ask, conversations

SMALL = RankerConfig(hidden=8, exchange_hidden=4, edge_hidden=4, epochs=6, exchange_epochs=3, batch=16, sources=8)


def ranked(*questions: RouterQuestion, size: int = 100) -> RankedGraph:
    return rank_graph(GRAPH, questions, size)


def test_every_target_gets_an_equal_share_of_the_loss() -> None:
    scores, targets = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[1.0, 1.0, 0.0]])
    total = math.log(math.e + 2)
    assert listwise_loss(scores, targets).item() == pytest.approx((total - 1 + total) / 2)


def test_the_gradient_of_the_loss_is_share_minus_target() -> None:
    scores = torch.tensor([[1.0, 0.0, -1.0]], requires_grad=True)
    listwise_loss(scores, torch.tensor([[0.0, 1.0, 1.0]])).backward()  # type: ignore[no-untyped-call]
    shares = torch.tensor([1.0, 0.0, -1.0]).softmax(0)
    assert scores.grad is not None
    assert scores.grad[0].tolist() == pytest.approx((shares - torch.tensor([0.0, 0.5, 0.5])).tolist())


def test_a_question_whose_targets_are_outside_the_pool_is_left_out_of_the_loss() -> None:
    scores = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    targets = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    assert listwise_loss(scores, targets).item() == pytest.approx(listwise_loss(scores[:1], targets[:1]).item())


def test_an_event_hears_the_best_of_its_neighbours_by_relation() -> None:
    data = ranked(ask("d", {"a": 1}))
    shares = torch.tensor([[-1.0, -2.0, -3.0, -4.0, -5.0]])
    inputs = exchange_inputs(data, shares)[0] * 6
    silent = FLOOR - 2
    assert inputs[1].tolist() == pytest.approx([-2, -1, silent, silent, silent])  # b: a by a temporal edge of strength 1
    assert inputs[3].tolist() == pytest.approx([-4, silent, silent, -2, -3])  # d: b by a causal, c by an entity edge
    assert inputs[4].tolist() == pytest.approx([-5, silent, silent, silent, silent])


def test_edges_out_of_the_best_events_have_inputs_by_name() -> None:
    data = ranked(ask("d", {"a": 0.8, "b": 0.6}))
    edges = edge_inputs(data, torch.tensor([[-1.0, -2.0, -3.0, -4.0, -5.0]]), sources=1)
    assert (edges.starts.tolist(), edges.target.tolist()) == ([0, 2], [1, 2])
    named = dict(zip(EDGE_INPUTS, edges.inputs[0].tolist(), strict=True))
    expected = {"temporal": 1, "asks_general": 1, "source_value": -1 / 12, "target_value": -2 / 12}
    expected |= {"source_cosine": 0.8, "target_cosine": 0.6}
    for name, value in named.items():
        assert value == pytest.approx(expected.get(name, 0)), name


def test_shares_are_cut_at_the_floor() -> None:
    assert log_shares(torch.tensor([[0.0, -50.0]]), torch.zeros(1, 2), 0.5).tolist() == [[0.0, FLOOR]]


def test_a_small_pool_holds_the_best_by_plain_scores_and_knows_the_targets_outside() -> None:
    question = ask("ae", {"a": 1, "c": 0.5})
    data = ranked(question, size=2)
    assert data.places.tolist() == [[0, 2]]
    assert data.slots.tolist() == [[0, -1, 1, -1, -1]]
    assert (data.targets.tolist(), data.wanted.tolist()) == ([[1.0, 0.0]], [2])
    assert recall_at(torch.tensor([[1.0, 0.0]]), data, (1, 5)).tolist() == [[0.5, 0.5]]


def test_a_pool_is_the_same_whatever_the_targets() -> None:
    one, other = (ranked(ask(targets, {"a": 1, "c": 0.5}), size=3) for targets in ("a", "de"))
    for name in ("places", "slots", "signals", "cosines", "intents", "likeness"):
        assert torch.equal(getattr(one, name), getattr(other, name)), name
    assert pool(lookup(GRAPH), "x", ask("a", {"a": 1}).vector, 100).tolist() == [0, 1, 2, 3, 4]


def test_training_ranks_targets_higher_than_before() -> None:
    graphs, questions = conversations()
    data = [rank_graph(graphs[name], group, 100) for name, group in by_episode(questions).items()]
    config = replace(SMALL, epochs=25, rate=1e-2)
    objective = EventObjective(data, 4, config, 0.5, 0)
    before = _recall(objective, data)
    learn(ListwiseLearner(objective, data, 4, config, 0), TrainingState())
    assert _recall(objective, data) > before + 0.1


def test_signals_are_standardised_over_the_training_graphs_alone() -> None:
    graphs, questions = conversations()
    data = [rank_graph(graphs[name], group, 100) for name, group in by_episode(questions).items()]
    objective = EventObjective(data, 4, SMALL, 0.5, 0)
    rows = np.concatenate([graph.signals.numpy().reshape(-1, graph.signals.shape[-1]) for graph in data[:4]]).astype(
        np.float64
    )
    np.testing.assert_allclose(objective.parameters["mean"].numpy(), rows.mean(0), atol=1e-5)
    np.testing.assert_allclose(objective.parameters["scale"].numpy(), rows.std(0), atol=1e-4)


def _recall(objective: EventObjective, data: list[RankedGraph]) -> float:
    """Mean recall at 5 on the training graphs."""
    found = [
        recall_at(objective.scores(number, torch.arange(len(data[number])), None), data[number], (5,)) for number in range(4)
    ]
    return float(torch.cat(found).mean())
