"""Walks, rewards and returns worked out by hand on five events (`walking.py`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch

from models.router.batch import PackedQuestions, pack_graph, pack_questions
from models.router.policies import CosinePolicy, Scorer, StaticPolicy, UniformPolicy
from models.router.presets import RewardConfig
from models.router.rollout import Rollout, choose, log_softmax_by_row, roll_out
from models.router.walk_scores import walk_scores
from tests.models.router.walking import GRAPH, ask, conversations, packed

REWARD = RewardConfig(hit=10.0, step=0.05, timeout=1.0)


@dataclass(frozen=True)
class Scripted:
    """Prefers edges to later places, or to earlier ones."""

    later: bool = True

    def start(self, questions: PackedQuestions, rows: torch.Tensor) -> Scorer:
        return lambda walk, frontier: frontier.target.float() * (1 if self.later else -1)


def walk(targets: str, toward: dict[str, float], hops: int = 5, later: bool = True) -> Rollout:
    graph, questions = packed(ask(targets, toward))
    return roll_out(Scripted(later), graph, questions, torch.tensor([0]), hops, REWARD)


def test_a_walk_starts_at_the_most_similar_event_of_equals_the_first() -> None:
    assert walk("d", {"c": 0.9, "d": 0.1}).path[0].tolist() == [2]
    assert walk("d", {"b": 0.5, "c": 0.5}).path[0].tolist() == [1]


def test_every_step_costs_and_a_hit_pays_once() -> None:
    rollout = walk("d", {"a": 1})
    assert rollout.path[:, 0].tolist() == [0, 2, 3, -1, -1, -1]
    assert rollout.rewards[:, 0].tolist() == pytest.approx([-0.05, 9.95, 0, 0, 0])
    assert rollout.succeeded.tolist() == [True]


def test_a_walk_goes_on_until_all_targets_are_found() -> None:
    rollout = walk("cd", {"a": 1})
    assert rollout.rewards[:, 0].tolist() == pytest.approx([9.95, 9.95, 0, 0, 0])
    assert rollout.steps.tolist() == [2]


def test_a_dead_end_ends_the_walk_without_penalty() -> None:
    rollout = walk("be", {"a": 1})
    assert rollout.path[:, 0].tolist() == [0, 2, 3, -1, -1, -1]
    assert rollout.rewards.sum().item() == pytest.approx(-0.1)
    assert (rollout.found.tolist(), rollout.wanted.tolist()) == ([0], [2])


def test_spent_hops_cost_when_targets_are_left() -> None:
    assert walk("e", {"a": 1}, hops=2).rewards[:, 0].tolist() == pytest.approx([-0.05, -1.05])


def test_a_hit_on_the_last_hop_pays_even_if_another_target_is_left() -> None:
    assert walk("ce", {"a": 1}, hops=1).rewards[:, 0].tolist() == pytest.approx([10 - 0.05 - 1])
    assert walk("c", {"a": 1}, hops=1).rewards[:, 0].tolist() == pytest.approx([10 - 0.05])


def test_a_target_at_the_start_is_found_without_reward_and_the_only_one_without_a_step() -> None:
    alone = walk("a", {"a": 1})
    assert (alone.steps.tolist(), alone.succeeded.tolist(), alone.rewards.sum().item()) == ([0], [True], 0)
    both = walk("ac", {"a": 1})
    assert both.rewards[:, 0].tolist() == pytest.approx([9.95, 0, 0, 0, 0])
    assert both.found.tolist() == [2]


def test_a_start_without_neighbours_is_a_dead_end() -> None:
    rollout = walk("a", {"e": 1})
    assert (rollout.steps.tolist(), rollout.succeeded.tolist()) == ([0], [False])


def test_returns_are_discounted_from_every_step() -> None:
    returns = walk("d", {"a": 1}).returns(0.99)
    assert returns[:2, 0].tolist() == pytest.approx([-0.05 + 0.99 * 9.95, 9.95])


def test_probabilities_are_a_softmax_over_unvisited_neighbours() -> None:
    graph, questions = packed(ask("d", {"a": 1, "b": 0.5}))
    rollout = roll_out(CosinePolicy(), graph, questions, torch.tensor([0]), 2, REWARD)
    expected = math.log(math.exp(0.5) / (math.exp(0.5) + math.exp(0)))
    assert rollout.log_probabilities[:, 0].tolist() == pytest.approx([expected, 0])  # b has one way on: probability 1


def test_questions_of_a_batch_walk_as_they_would_alone() -> None:
    asked = [ask("d", {"a": 1}), ask("a", {"a": 1}), ask("be", {"a": 0.9, "b": 0.1}), ask("c", {"e": 1}), ask("d", {"b": 1})]
    graph, questions = packed(*asked)
    together = roll_out(Scripted(), graph, questions, torch.arange(5), 3, REWARD)
    for row, question in enumerate(asked):
        graph, alone = packed(question)
        single = roll_out(Scripted(), graph, alone, torch.tensor([0]), 3, REWARD)
        assert together.path[:, row].tolist() == single.path[:, 0].tolist()
        assert together.rewards[:, row].tolist() == single.rewards[:, 0].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_no_walk_visits_an_event_twice(seed: int) -> None:
    graphs, questions = conversations(1, asked=30)
    graph = graphs["talk-0"]
    generator = torch.Generator().manual_seed(seed)
    rows = torch.arange(30)
    rollout = roll_out(UniformPolicy(), pack_graph(graph), pack_questions(graph, questions), rows, 20, REWARD, generator)
    assert rollout.steps.max() > 5
    for path in rollout.path.T.tolist():
        visited = [place for place in path if place >= 0]
        assert len(visited) == len(set(visited))


def test_targets_change_neither_starts_nor_scores() -> None:
    """The same questions with other targets: everything but the labels is equal, and so are the first steps of a walk."""
    one = pack_questions(GRAPH, [ask("d", {"a": 0.7, "b": 0.2})])
    other = pack_questions(GRAPH, [ask("be", {"a": 0.7, "b": 0.2})])
    for name in ("vectors", "intents", "cosines", "starts"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    graph, _ = packed(ask("d", {"a": 1}))
    frontier = graph.frontier(one.starts)
    policy = StaticPolicy(graph.features, 0.5)
    first, second = (policy.start(questions, torch.tensor([0])) for questions in (one, other))
    assert torch.equal(first(frontier.row, frontier), second(frontier.row, frontier))


def test_sampling_follows_the_probabilities() -> None:
    logs = torch.tensor([0.7, 0.2, 0.1, 1.0]).log()
    rows = torch.tensor([0, 0, 0, 1])
    generator = torch.Generator().manual_seed(0)
    drawn = torch.stack([choose(logs, rows, 2, generator) for _ in range(4000)])
    shares = torch.bincount(drawn[:, 0], minlength=3) / 4000
    assert shares.tolist() == pytest.approx([0.7, 0.2, 0.1], abs=0.03)
    assert drawn[:, 1].unique().tolist() == [3]


def test_the_best_of_equals_is_the_first() -> None:
    assert choose(torch.tensor([0.1, 0.5, 0.5]), torch.tensor([0, 0, 0]), 1, None).tolist() == [1]


def test_softmax_by_row_survives_large_scores() -> None:
    logs = log_softmax_by_row(torch.tensor([1000.0, 1000.0, -5.0]), torch.tensor([0, 0, 1]), 2)
    assert logs.tolist() == pytest.approx([math.log(0.5), math.log(0.5), 0])


def test_scores_of_walks_tell_zero_step_successes_apart() -> None:
    graph, questions = packed(ask("a", {"a": 1}), ask("d", {"a": 1}), ask("de", {"a": 1}))
    scores = walk_scores([(Scripted(), graph, questions)], 5, REWARD)
    assert (scores.n, scores.moved) == (3, 2)
    assert scores.success == pytest.approx(2 / 3)
    assert scores.moved_success == pytest.approx(1 / 2)
    assert scores.recall == pytest.approx((1 + 1 + 0.5) / 3)
