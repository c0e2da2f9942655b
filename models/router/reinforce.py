"""REINFORCE over router and edge features (HAGE, section 3.4), all questions of a batch at once.

    loss = - mean over walks of sum over steps of log pi(a_t) * (G_t - b)  +  anchor * sum over edges of |e - e0|^2

What the paper leaves open: `b` is used as it is and updated afterwards, from the mean return G_t over the steps taken, since
advantages compare with discounted returns; B walks update it as B walks one by one would, b <- d^B b + (1 - d^B) mean. The
anchor is the sum over the edges of all training graphs, as printed. The gradient of all parameters together is clipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models.router.batch import PackedGraph, PackedQuestions, question_batches
from models.router.learner import Arrays, EpochRecord, arrays_of, moments, restore_moments
from models.router.policies import RouterPolicy
from models.router.presets import Mode, ReinforceConfig
from models.router.query_router import new_router
from models.router.rollout import Rollout, roll_out
from models.router.walk_scores import WalkScores, walk_scores

if TYPE_CHECKING:
    from torch import Tensor

Packed = tuple[PackedGraph, PackedQuestions]

EDGES = "edges"
"""The name of the learned edge features, those of all training graphs one after another: (E, 4)."""


def policy_loss(rollout: Rollout, baseline: float, gamma: float) -> Tensor:
    """The negative of Eq. 13's objective: mean over walks, those that took no step included."""
    advantages = (rollout.returns(gamma) - baseline) * rollout.taken
    return -(rollout.log_probabilities * advantages).sum(0).mean()


def anchor_loss(features: Tensor, initial: Tensor) -> Tensor:
    """Eq. 14 without its factor: the sum over edges of the squared distance from the first features."""
    return ((features - initial) ** 2).sum()


def updated_baseline(baseline: float, rollout: Rollout, gamma: float, decay: float) -> float:
    """The moving average after the walks of a rollout that took a step; unchanged if none did."""
    walks = int((rollout.steps > 0).sum())
    if not walks:
        return baseline
    mean = float((rollout.returns(gamma) * rollout.taken).sum() / rollout.taken.sum())
    kept = decay**walks
    return kept * baseline + (1 - kept) * mean


class ReinforceLearner:
    """Trains on `train`, chooses the epoch by `validation`; a graph that is not trained on keeps its first edge features."""

    stage = "reinforce"

    def __init__(
        self, train: Sequence[Packed], validation: Sequence[Packed], mode: Mode, config: ReinforceConfig, seed: int
    ) -> None:
        import torch

        self.config, self.mode, self._seed = config, mode, seed
        self._train, self._validation = train, validation
        self._router = new_router(train[0][1].vectors.shape[1], config.hidden, config.intent_size, seed)
        self._initial = torch.cat([graph.features for graph, _ in train])
        self._edges = self._initial.clone()
        self._bounds = np.cumsum([0, *(len(graph.features) for graph, _ in train)]).tolist()
        self._baseline = 0.0
        self._prepare_optimiser()

    @property
    def epochs(self) -> int:
        return 0 if self.mode == "static" else self.config.epochs

    def epoch(self, number: int) -> EpochRecord:
        rng = np.random.default_rng([self._seed, number])
        sizes = [len(questions) for _, questions in self._train]
        outcomes = [self._update(*batch, rng) for batch in question_batches(sizes, self.config.batch, rng)]
        walks = sum(outcome.walks for outcome in outcomes)
        loss, reward, success = (
            sum(getattr(outcome, name) * outcome.walks for outcome in outcomes) / walks
            for name in ("loss", "reward", "success")
        )
        validated = None if (number + 1) % self.config.evaluate_every else self.validate()
        drift = float((self._edges.detach() - self._initial).norm(dim=1).mean()) if len(self._initial) else 0.0
        record = EpochRecord(self.stage, number, loss, reward, success, edge_drift=drift)
        return record if validated is None else replace(record, success=validated.success, recall=validated.recall)

    def quality(self, record: EpochRecord) -> float | None:
        """The success rate on validation (section 3.5)."""
        return record.success

    def validate(self) -> WalkScores:
        """Greedy walks on the validation graphs, whose edges have their first features."""
        walks = [(self._policy(graph.features), graph, questions) for graph, questions in self._validation]
        return walk_scores(walks, self.config.hops, self.config.reward)

    def parameters(self) -> Arrays:
        return arrays_of({**self._router.parameters, EDGES: self._edges})

    def progress(self) -> tuple[Arrays, dict[str, float]]:
        return self.parameters() | moments(self._optimiser, self._names), {"baseline": self._baseline}

    def resume(self, arrays: Arrays, numbers: Mapping[str, float]) -> None:
        import torch

        for name, tensor in {**self._router.parameters, EDGES: self._edges}.items():
            tensor.data.copy_(torch.from_numpy(arrays[name]))
        restore_moments(self._optimiser, self._names, arrays)
        self._baseline = numbers["baseline"]

    def _policy(self, features: Tensor) -> RouterPolicy:
        return RouterPolicy(self._router, features, self.config.mix)

    def _prepare_optimiser(self) -> None:
        """What is frozen by the mode is no parameter: edge-only keeps the router as it was drawn."""
        import torch

        router = dict(self._router.parameters) if self.mode in ("router-only", "joint") else {}
        edges = {EDGES: self._edges} if self.mode in ("edge-only", "joint") else {}
        trained = router | edges
        self._names = list(trained)
        for tensor in trained.values():
            tensor.requires_grad_()
        groups = [
            {"params": list(part.values()), "lr": rate}
            for part, rate in ((router, self.config.router_rate), (edges, self.config.edge_rate))
            if part
        ]
        self._optimiser = torch.optim.Adam(groups or [{"params": [torch.zeros(1)]}], fused=True)

    def _update(self, graph: int, part: NDArray[np.int64], rng: np.random.Generator) -> _Outcome:
        """One optimiser step for some questions of one graph."""
        import torch

        config, (packed, questions) = self.config, self._train[graph]
        device = questions.starts.device
        rows = torch.from_numpy(np.repeat(part, config.samples)).to(device)
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        policy = self._policy(self._edges[self._bounds[graph] : self._bounds[graph + 1]])
        rollout = roll_out(policy, packed, questions, rows, config.hops, config.reward, generator)
        loss = policy_loss(rollout, self._baseline, config.gamma)
        total = loss + config.anchor * anchor_loss(self._edges, self._initial)
        if total.requires_grad:  # where every walk ends at its start, nothing was decided
            self._optimiser.zero_grad()
            total.backward()  # type: ignore[no-untyped-call]
            trained = [tensor for group in self._optimiser.param_groups for tensor in group["params"]]
            torch.nn.utils.clip_grad_norm_(trained, config.clip)
            self._optimiser.step()
        self._baseline = updated_baseline(self._baseline, rollout, config.gamma, config.baseline_decay)
        reward, success = rollout.rewards.sum(0).mean(), rollout.succeeded.double().mean()
        return _Outcome(len(rows), float(total.detach()), float(reward), float(success))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Means over the `walks` of one optimiser step."""

    walks: int
    loss: float
    reward: float
    success: float
