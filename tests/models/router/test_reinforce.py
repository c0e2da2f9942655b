"""Gradients, baseline and anchor worked out by hand; what each mode may change."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from models.router.batch import PackedQuestions, pack_graph, pack_questions
from models.router.learner import TrainingState, learn
from models.router.policies import Scorer
from models.router.presets import Mode, ReinforceConfig, RewardConfig
from models.router.query_router import new_router
from models.router.questions import by_episode
from models.router.reinforce import EDGES, ReinforceLearner, anchor_loss, policy_loss, updated_baseline
from models.router.rollout import Rollout, roll_out
from tests.models.router.walking import ask, conversations, packed

SMALL = ReinforceConfig(epochs=3, batch=8, hidden=(8, 4), evaluate_every=1)


@dataclass(frozen=True)
class Free:
    """A policy with one free score per edge of the small graph: a-b, a-c, b-d, c-d."""

    scored: torch.Tensor

    def start(self, questions: PackedQuestions, rows: torch.Tensor) -> Scorer:
        return lambda walk, frontier: self.scored[frontier.edge]


def taken(scores: list[float], targets: str, hops: int) -> tuple[torch.Tensor, Rollout]:
    """A greedy walk from a, with the scores of edges as a leaf."""
    leaf = torch.tensor(scores, requires_grad=True)
    graph, questions = packed(ask(targets, {"a": 1}))
    return leaf, roll_out(Free(leaf), graph, questions, torch.tensor([0]), hops, RewardConfig())


def test_the_gradient_is_that_of_equation_13() -> None:
    scores, rollout = taken([1.0, 0.0, 0.0, 0.0], "d", 2)
    policy_loss(rollout, baseline=2.0, gamma=0.99).backward()  # type: ignore[no-untyped-call]
    p = math.exp(1) / (math.exp(1) + 1)  # of going to b
    advantage = (-0.05 + 0.99 * 9.95) - 2.0
    # d(-log p * A)/d score: -(1 - p) A for the edge taken, (1 - p) A for the other; b has one way on, nothing to learn
    assert scores.grad is not None
    assert scores.grad.tolist() == pytest.approx([-(1 - p) * advantage, (1 - p) * advantage, 0, 0])


def test_the_loss_is_the_mean_over_walks_those_without_a_step_included() -> None:
    leaf = torch.tensor([1.0, 0, 0, 0])
    graph, questions = packed(ask("d", {"a": 1}), ask("a", {"a": 1}))
    both, one = (
        roll_out(Free(leaf), graph, questions, rows, 2, RewardConfig()) for rows in (torch.arange(2), torch.arange(1))
    )
    assert policy_loss(both, 0.0, 0.99).item() == pytest.approx(policy_loss(one, 0.0, 0.99).item() / 2)


def test_the_baseline_moves_toward_the_mean_return_once_per_walk_that_stepped() -> None:
    _, rollout = taken([1.0, 0, 0, 0], "d", 2)
    mean = ((-0.05 + 0.99 * 9.95) + 9.95) / 2
    assert updated_baseline(2.0, rollout, 0.99, 0.9) == pytest.approx(0.9 * 2 + 0.1 * mean)
    _, idle = taken([1.0, 0, 0, 0], "a", 2)
    assert updated_baseline(2.0, idle, 0.99, 0.9) == 2.0


def test_the_baseline_is_used_before_it_is_updated() -> None:
    learner = _learner("joint", ReinforceConfig(epochs=1, batch=1_000, hidden=(8, 4), router_rate=0, edge_rate=0, anchor=0))
    reward = learner.epoch(0)
    _, numbers = learner.progress()
    assert reward.loss != 0
    assert numbers["baseline"] != 0


def test_the_anchor_is_the_sum_of_squares_over_edges() -> None:
    features = torch.tensor([[1.0, 0, 0, 0], [0, 2, 0, 0]], requires_grad=True)
    loss = anchor_loss(features, torch.zeros(2, 4))
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 5
    assert features.grad is not None
    assert features.grad.tolist() == [[2, 0, 0, 0], [0, 4, 0, 0]]


def test_a_weight_is_the_mlp_of_query_edge_intent_and_cosines() -> None:
    """Eq. 7 and 8 with one plain concatenation, in the paper's order."""
    router = new_router(6, (5, 3), 2, seed=1)
    rng = torch.Generator().manual_seed(0)
    query, edge, cosines = (torch.randn(size, generator=rng) for size in (6, 4, 2))
    named = router.parameters
    inputs = torch.cat([query, edge, named["intent"][3], cosines])
    hidden = torch.relu(named["first.weight"] @ inputs + named["first.bias"])
    hidden = torch.relu(named["second.weight"] @ hidden + named["second.bias"])
    expected = torch.nn.functional.softplus(named["last.weight"] @ hidden + named["last.bias"])
    found = router.ask(query[None], torch.tensor([3])).weights(torch.tensor([0]), torch.cat([edge, cosines])[None])
    assert found.item() == pytest.approx(expected.item(), abs=1e-6)
    assert found.item() > 0


@pytest.mark.parametrize(
    ("mode", "router_moves", "edges_move"), [("joint", True, True), ("router-only", True, False), ("edge-only", False, True)]
)
def test_a_mode_changes_only_its_own_part(mode: Mode, router_moves: bool, edges_move: bool) -> None:
    learner = _learner(mode, SMALL)
    before = learner.parameters()
    learner.epoch(0)
    after = learner.parameters()
    moved = {name: not np.array_equal(before[name], after[name]) for name in before}
    assert moved.pop(EDGES) is edges_move
    assert set(moved.values()) == {router_moves}


def test_a_strong_anchor_keeps_the_edges_nearer() -> None:
    drifts = []
    for anchor in (0.0, 1_000.0):
        config = ReinforceConfig(epochs=12, batch=8, hidden=(8, 4), anchor=anchor, edge_rate=1e-2)
        learner = _learner("edge-only", config)
        drifts.append([learner.epoch(number).edge_drift for number in range(12)][-1])
    assert drifts[0] is not None
    assert drifts[1] is not None
    assert drifts[1] < drifts[0] / 2


def test_training_finds_more_than_it_did() -> None:
    learner = _learner("joint", ReinforceConfig(epochs=30, batch=16, hidden=(32, 16), router_rate=3e-3, evaluate_every=30))
    rewards = [learner.epoch(number).reward or 0.0 for number in range(30)]
    assert np.mean(rewards[-5:]) > np.mean(rewards[:5]) + 0.5


def test_equal_seeds_give_equal_weights_and_other_seeds_others() -> None:
    first, again, other = (learn(_learner("joint", SMALL, seed), TrainingState()) for seed in (0, 0, 1))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["first.weight"], other["first.weight"])


def _learner(mode: Mode, config: ReinforceConfig, seed: int = 0) -> ReinforceLearner:
    graphs, questions = conversations()
    asked = by_episode(questions)
    walks = [(pack_graph(graphs[name]), pack_questions(graphs[name], group)) for name, group in asked.items()]
    return ReinforceLearner(walks[:4], walks[4:], mode, config, seed)
