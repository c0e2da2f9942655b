"""Walks of many questions at once: the paper's decision process (HAGE, section 3.4), step by step as tensors.

What the paper says, and what was decided where it is silent:

- A walk starts at the event most similar to the question; it is visited from the start. If it is a target, the target counts
  as found without reward; if it is the only one, the walk is over before its first step and teaches nothing (`steps` 0).
- An action goes to a neighbour that this walk has not visited; visited ones are masked out of the softmax.
- Reward of a step, Eq. 11, all terms at every step: `hit` if the event is a target, minus `step`, minus `timeout` if it was
  the last hop of the budget and targets are left. (The public code drops the step penalty on hits and time-outs.)
- A walk ends when all targets are found, when no neighbour is left (a dead end costs nothing: no action was taken), or when
  the hops are spent.
- Returns are discounted per step, Eq. 12. A question with more targets than hops + 1 can never succeed; it still learns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.router.batch import Frontier, PackedGraph, PackedQuestions
from models.router.policies import Policy, Scorer
from models.router.presets import RewardConfig

if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True)
class Rollout:
    """B walks of at most T steps. Per step (T, B): `taken` whether the walk took it, `log_probabilities` and `rewards` (0
    where not taken). `path` (T + 1, B) places, -1 after the end. `found`, `wanted` (B,) numbers of targets."""

    taken: Tensor
    log_probabilities: Tensor
    rewards: Tensor
    path: Tensor
    found: Tensor
    wanted: Tensor

    @property
    def succeeded(self) -> Tensor:
        """Whether all targets were found: (B,)."""
        return self.found == self.wanted

    @property
    def steps(self) -> Tensor:
        """How many steps every walk took: (B,)."""
        return self.taken.sum(0)

    def returns(self, gamma: float) -> Tensor:
        """G_t, Eq. 12: (T, B)."""
        import torch

        later = torch.zeros_like(self.rewards[0])
        found = []
        for reward in self.rewards.flip(0):
            later = reward + gamma * later
            found.append(later)
        return torch.stack(found[::-1])


def roll_out(
    policy: Policy,
    graph: PackedGraph,
    questions: PackedQuestions,
    rows: Tensor,
    hops: int,
    reward: RewardConfig,
    generator: Generator | None = None,
) -> Rollout:
    """Walk for the questions numbered `rows` (B,), sampling with `generator`, or greedily without one."""
    import torch

    walks, scorer = _Walks(graph, questions, rows), policy.start(questions, rows)
    steps = [walks.step(scorer, generator, reward, last=hop == hops - 1) for hop in range(hops)]
    taken, log_probabilities, rewards, places = (torch.stack(column) for column in zip(*steps, strict=True))
    path = torch.cat([questions.starts[rows][None], places])
    return Rollout(taken, log_probabilities, rewards, path, walks.wanted - walks.left, walks.wanted)


class _Walks:
    """The state of B walks: where they stand, what they visited, how many targets are left, and who still walks."""

    def __init__(self, graph: PackedGraph, questions: PackedQuestions, rows: Tensor) -> None:
        import torch

        self.graph, self.questions, self.rows = graph, questions, rows
        self.place = questions.starts[rows]
        self.wanted = questions.targets[rows].sum(1)
        self.left = self.wanted - questions.targets[rows, self.place].long()
        self.visited = torch.zeros((len(rows), questions.targets.shape[1]), dtype=torch.bool, device=rows.device)
        self.visited[torch.arange(len(rows), device=rows.device), self.place] = True
        self.walking = self.left > 0

    def step(
        self, scorer: Scorer, generator: Generator | None, reward: RewardConfig, last: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Let everybody who can take one step; return `taken`, log-probability, reward and new place (-1) of every walk."""
        walkers, frontier = self._open_edges()
        log_probabilities = self.questions.cosines.new_zeros(len(self.rows))
        rewards, places = log_probabilities.clone(), self.place.new_full((len(self.rows),), -1)
        if len(walkers):
            logs = log_softmax_by_row(scorer(walkers[frontier.row], frontier), frontier.row, len(walkers))
            chosen = choose(logs, frontier.row, len(walkers), generator)
            log_probabilities = log_probabilities.index_put((walkers,), logs[chosen])
            places[walkers] = frontier.target[chosen]
            rewards[walkers] = self._arrive(walkers, frontier.target[chosen], reward, last)
        return places >= 0, log_probabilities, rewards, places

    def _open_edges(self) -> tuple[Tensor, Frontier]:
        """The walks with an unvisited neighbour, and their edges with rows numbered by them. The others end here."""
        import torch

        walkers = self.walking.nonzero()[:, 0]
        every = self.graph.frontier(self.place[walkers])
        unvisited = (~self.visited[walkers[every.row], every.target]).nonzero()[:, 0]
        row, edge, source, target = (part.index_select(0, unvisited) for part in every)
        alive = torch.bincount(row, minlength=len(walkers)) > 0
        self.walking[walkers] = alive
        return walkers[alive], Frontier((alive.cumsum(0) - 1)[row], edge, source, target)

    def _arrive(self, walkers: Tensor, targets: Tensor, reward: RewardConfig, last: bool) -> Tensor:
        hit = self.questions.targets[self.rows[walkers], targets]
        self.place[walkers] = targets
        self.visited[walkers, targets] = True
        self.left[walkers] -= hit.long()
        missing = self.left[walkers] > 0
        self.walking[walkers] = missing
        earned = reward.hit * hit.float() - reward.step
        return earned - reward.timeout * missing.float() if last else earned


def log_softmax_by_row(scores: Tensor, row: Tensor, rows: int) -> Tensor:
    """The logarithm of the softmax of `scores` (M,) among those of the same `row`, which has at least one of each number."""
    highest = scores.new_full((rows,), float("-inf")).scatter_reduce(0, row, scores.detach(), "amax")
    shifted = scores - highest[row]
    return shifted - scores.new_zeros(rows).index_add(0, row, shifted.exp()).log()[row]


def choose(logs: Tensor, row: Tensor, rows: int, generator: Generator | None) -> Tensor:
    """One index into `logs` (M,) per row: the highest, the first of equals; or drawn with probability exp(logs)."""
    import torch

    values = logs.detach()
    if generator is not None:  # the largest of log p plus Gumbel noise is a draw from p
        noise = torch.rand(len(values), generator=generator, dtype=torch.float64)
        values = values.double() - (-noise.clamp_min(1e-300).log()).log().to(values.device)
    best = values.new_full((rows,), float("-inf")).scatter_reduce(0, row, values, "amax")
    at = torch.where(values == best[row], torch.arange(len(values), device=row.device), len(values))
    return at.new_full((rows,), len(values)).scatter_reduce(0, row, at, "amin")
