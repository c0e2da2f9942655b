"""How well walks find their targets: the numbers of the paper's experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.router.batch import PackedGraph, PackedQuestions
from models.router.policies import Policy
from models.router.presets import RewardConfig
from models.router.rollout import roll_out

if TYPE_CHECKING:
    from torch import Generator


@dataclass(frozen=True, slots=True)
class WalkScores:
    """Means over `n` questions: `success` all targets found, `recall` share of targets among the events walked over,
    `reward` undiscounted. `moved_success` leaves out the `n` - `moved` questions that the start alone answered; None
    without others."""

    n: int
    success: float
    moved: int
    moved_success: float | None
    recall: float
    reward: float


def walk_scores(
    walks: Sequence[tuple[Policy, PackedGraph, PackedQuestions]],
    hops: int,
    reward: RewardConfig,
    generator: Generator | None = None,
) -> WalkScores:
    """Score one walk per question over graphs with their policies: greedy, or drawn from `generator`."""
    import torch

    done = []
    for policy, graph, questions in walks:
        rows = torch.arange(len(questions), device=questions.starts.device)
        with torch.no_grad():
            done.append(roll_out(policy, graph, questions, rows, hops, reward, generator))
    succeeded = torch.cat([rollout.succeeded for rollout in done])
    recalls = torch.cat([rollout.found / rollout.wanted for rollout in done])
    rewards = torch.cat([rollout.rewards.sum(0) for rollout in done])
    moved = ~torch.cat([rollout.succeeded & (rollout.steps == 0) for rollout in done])
    others = float(succeeded[moved].double().mean()) if bool(moved.any()) else None
    means = [float(values.double().mean()) for values in (succeeded, recalls, rewards)]
    return WalkScores(len(succeeded), means[0], int(moved.sum()), others, means[1], means[2])
