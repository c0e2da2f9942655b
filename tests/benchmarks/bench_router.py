"""Training and walking with the router: speed, memory, and what batching costs in success.

    python -m tests.benchmarks.bench_router [SECTION ...]

Sections, each in a process of its own and by default all; every one prints a JSON line:

- `loop`: the paper's joint training of one fold, batched, and question by question with an optimiser step each, as the
  public code does it; questions per second, their ratio, and the best validation success of both.
- `retrieval`: milliseconds to judge a question and walk, on a graph of about 700 events, for both presets.
- `large`: a graph of 100,000 events: a few epochs of both presets, retrieval, and the peak of memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from models.router.batch import pack_graph, pack_questions
from models.router.folds import Fold, make_folds
from models.router.learned import LearnedRouter
from models.router.learner import TrainingState, learn
from models.router.policies import RouterPolicy
from models.router.presets import RankerConfig, ReinforceConfig, RouterConfig, preset
from models.router.query_router import new_router
from models.router.questions import RouterQuestion, by_episode
from models.router.reinforce import Packed, ReinforceLearner
from models.router.train import train_fold
from models.router.walk_scores import walk_scores
from storage.structures.event_walk import traverse
from storage.structures.events import EventGraph
from tests.benchmarks.router_source import find_data, generated
from tests.benchmarks.usage import Usage, measured, milliseconds

LOOP_EPOCHS = 10
LARGE = 100_000


def loop() -> dict[str, Any]:
    """Both trainings of fold 0 with the paper's settings; the loop runs fewer epochs, each with far more updates."""
    dataset, (graphs, questions) = find_data()
    asked = by_episode(questions)
    fold = make_folds(graphs)[0]
    train, validation = (
        [(pack_graph(graphs[name]), pack_questions(graphs[name], asked[name])) for name in part]
        for part in (fold.train, fold.validation)
    )
    config = ReinforceConfig()
    count = sum(len(questions) for _, questions in train)
    state = TrainingState()
    _, batched = measured(lambda: learn(ReinforceLearner(train, validation, "joint", config, 0), state))
    plain = PlainLoop(train, validation, config)
    successes, looped = measured(lambda: [plain.epoch(np.random.default_rng(number)) for number in range(LOOP_EPOCHS)])
    rates = {"batched": count * config.epochs / batched.cpu_s, "loop": count * LOOP_EPOCHS / looped.cpu_s}
    return {
        "dataset": dataset,
        "questions": count,
        "batched": {"epochs": config.epochs, "success": round(state.best_quality, 4), **batched.as_json()},
        "loop": {"epochs": LOOP_EPOCHS, "success": round(max(successes), 4), **looped.as_json()},
        "questions_per_cpu_s": {name: round(rate, 1) for name, rate in rates.items()},
        "ratio": round(rates["batched"] / rates["loop"], 1),
    }


class PlainLoop:
    """One question, one walk, one optimiser step: the reference's training, with the paper's reward and mask."""

    def __init__(self, train: Sequence[Packed], validation: Sequence[Packed], config: ReinforceConfig) -> None:
        self._train, self._validation, self._config = train, validation, config
        self._router = new_router(train[0][1].vectors.shape[1], config.hidden, config.intent_size, 0)
        self._edges = [graph.features.clone().requires_grad_() for graph, _ in train]
        router = [tensor.requires_grad_() for tensor in self._router.parameters.values()]
        self._parameters = [*router, *self._edges]
        groups = [{"params": router, "lr": config.router_rate}, {"params": self._edges, "lr": config.edge_rate}]
        self._optimiser = torch.optim.Adam(groups)
        self._baseline = 0.0

    def epoch(self, rng: np.random.Generator) -> float:
        """Every training question once, in random order; then the success on validation."""
        order = [(graph, row) for graph, (_, questions) in enumerate(self._train) for row in range(len(questions))]
        generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
        for i in rng.permutation(len(order)):
            self._update(*order[i], generator)
        walks = [(RouterPolicy(self._router, g.features, self._config.mix), g, q) for g, q in self._validation]
        return walk_scores(walks, self._config.hops, self._config.reward).success

    def _update(self, number: int, row: int, generator: torch.Generator) -> None:
        logs, rewards = self._walk(number, row, generator)
        if not logs:
            return
        returns: list[float] = []
        for reward in reversed(rewards):
            returns.insert(0, reward + self._config.gamma * (returns[0] if returns else 0.0))
        anchor = sum(
            ((edges - graph.features) ** 2).sum() for edges, (graph, _) in zip(self._edges, self._train, strict=True)
        )
        objective = sum(log * (value - self._baseline) for log, value in zip(logs, returns, strict=True))
        self._optimiser.zero_grad()
        (self._config.anchor * anchor - objective).backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, self._config.clip)
        self._optimiser.step()
        decay = self._config.baseline_decay
        self._baseline = decay * self._baseline + (1 - decay) * float(np.mean(returns))

    def _walk(self, number: int, row: int, generator: torch.Generator) -> tuple[list[torch.Tensor], list[float]]:
        config, (graph, questions) = self._config, self._train[number]
        place = int(questions.starts[row])
        visited, left = {place}, set(questions.targets[row].nonzero()[:, 0].tolist()) - {place}
        logs: list[torch.Tensor] = []
        rewards: list[float] = []
        for hop in range(config.hops if left else 0):
            edges = [e for e in range(*graph.starts[place : place + 2].tolist()) if int(graph.target[e]) not in visited]
            if not edges:
                break
            probabilities = self._scores(number, row, place, edges).log_softmax(0)
            chosen = int(torch.multinomial(probabilities.exp(), 1, generator=generator))
            place = int(graph.target[edges[chosen]])
            visited.add(place)
            reward = config.reward.hit * (place in left) - config.reward.step
            left.discard(place)
            logs.append(probabilities[chosen])
            rewards.append(reward - config.reward.timeout * (bool(left) and hop == config.hops - 1))
            if not left:
                break
        return logs, rewards

    def _scores(self, number: int, row: int, place: int, edges: list[int]) -> torch.Tensor:
        graph, questions = self._train[number]
        far = questions.cosines[row, graph.target[edges]]
        near = questions.cosines[row, place].expand(len(edges))
        asked = self._router.ask(questions.vectors[row : row + 1], questions.intents[row : row + 1])
        inputs = torch.cat([self._edges[number][edges], near[:, None], far[:, None]], dim=1)
        return self._config.mix * far + (1 - self._config.mix) * asked.weights(
            torch.zeros(len(edges), dtype=torch.int64), inputs
        )


def retrieval() -> dict[str, Any]:
    """Judging and walking, one question at a time, on an unseen graph."""
    graphs, questions = generated(4, 700, 100)
    fold = Fold(0, ("generated-0", "generated-1"), ("generated-2",), ("generated-3",))
    return {name: _walked(graphs, questions, fold, config)[1] for name, config in _short().items()}


def large() -> dict[str, Any]:
    """Three graphs of which one is large: it is trained on, and walked."""
    (graphs, questions), made = measured(lambda: _large_data())
    fold = Fold(0, ("generated-0",), ("generated-1",), ("generated-2",))
    found: dict[str, Any] = {"events": LARGE, "edges": len(graphs["generated-0"].source), "made": made.as_json()}
    for name, config in _short().items():
        training, asked = _walked(graphs, questions, fold, config)
        found[name] = {"training": training.as_json(), "retrieval": asked}
    found["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024)
    return found


def _large_data() -> tuple[dict[str, EventGraph], tuple[RouterQuestion, ...]]:
    graphs, questions = generated(3, 400, 40)
    big, asked = generated(1, LARGE, 200)
    return {**graphs, **big}, (*asked, *(question for question in questions if question.episode_id != "generated-0"))


def _short() -> dict[str, RouterConfig]:
    paper = replace(preset("paper"), reinforce=ReinforceConfig(epochs=3, evaluate_every=1))
    return {"paper": paper, "best": replace(preset("best"), ranker=RankerConfig(epochs=3, exchange_epochs=3))}


def _walked(
    graphs: dict[str, EventGraph], questions: Sequence[RouterQuestion], fold: Fold, config: RouterConfig
) -> tuple[Usage, dict[str, float]]:
    """What training costs, and the milliseconds of questions about the largest graph (the first question prepares it)."""
    result, training = measured(lambda: train_fold(graphs, questions, fold, config))
    router = LearnedRouter(result.weights)
    graph = max(graphs.values(), key=len)
    asked = [question for question in questions if question.episode_id == graph.episode_id][:100]
    usages = []
    for question in (asked[0], *asked):
        query = (graph, question.text, question.vector, question.intent)
        usages.append(measured(lambda query=query: traverse(*query, router.judge(*query), config.walk))[1])
    return training, milliseconds(usages[1:])


SECTIONS = {"loop": loop, "retrieval": retrieval, "large": large}


def main(names: Sequence[str]) -> None:
    """Print the result of a section; several run one after another in new processes, so that peaks are their own."""
    if unknown := sorted(set(names) - set(SECTIONS)):
        raise SystemExit(f"no section {unknown[0]!r}: choose from {', '.join(SECTIONS)}")
    if len(names) == 1:
        started = time.perf_counter()
        found = SECTIONS[names[0]]()
        print(json.dumps({"section": names[0], "wall_s": round(time.perf_counter() - started, 1), **found}), flush=True)
        return
    for name in names or SECTIONS:
        subprocess.run([sys.executable, "-m", "tests.benchmarks.bench_router", name], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
