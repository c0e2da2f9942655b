"""Training one fold: the stages of a preset one after another, and the test conversations once at the end.

Pure: graphs and questions in, weights and numbers out. The caller saves the state that `on_epoch` hands over, and gives it
back as `resume_state` to go on after a stop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.router.batch import PackedGraph, PackedQuestions, pack_graph, pack_questions
from models.router.evaluate import RecallRow, recall_rows
from models.router.folds import Fold
from models.router.learned import LearnedRouter
from models.router.learner import Arrays, EpochRecord, OnEpoch, TrainingState, learn
from models.router.policies import CosinePolicy, Policy, RouterPolicy, StaticPolicy, UniformPolicy
from models.router.presets import RankerConfig, ReinforceConfig, RouterConfig
from models.router.query_router import QueryRouter
from models.router.questions import RouterQuestion, by_episode, trainable
from models.router.ranker_learner import EventObjective, ExchangeObjective, ListwiseLearner
from models.router.ranking_data import rank_graph
from models.router.reinforce import EDGES, ReinforceLearner
from models.router.walk_scores import WalkScores, walk_scores
from models.router.weights import RouterWeights, graph_digest
from storage.structures.event_lookup import lookup
from storage.structures.event_signals import SIGNALS
from storage.structures.events import INTENTS, RELATIONS, EventGraph

Walks = list[tuple[PackedGraph, PackedQuestions]]


@dataclass(frozen=True)
class FoldResult:
    """What a fold gives: the best weights, a record per epoch, and the test conversations' numbers.

    `walks` are greedy walks of the router (None without one), `recalls` one row per test question and ranking.
    """

    fold: Fold
    weights: RouterWeights
    history: tuple[EpochRecord, ...]
    best_epochs: Mapping[str, int]
    walks: WalkScores | None
    recalls: tuple[RecallRow, ...]


def device_of(name: str) -> str:
    """`auto` is the accelerator if torch finds one, else the CPU; any other name is torch's own."""
    import torch

    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


def train_fold(
    graphs: Mapping[str, EventGraph],
    questions: Sequence[RouterQuestion],
    fold: Fold,
    config: RouterConfig,
    seed: int = 0,
    resume_state: TrainingState | None = None,
    on_epoch: OnEpoch | None = None,
    device: str = "auto",
) -> FoldResult:
    """Train on the fold's training conversations, choose epochs on its validation ones, score its test ones once.

    Deterministic by `seed` on one kind of device, also when resumed from the state of any epoch. Questions without
    a target in their graph are left out, adversarial ones unless the config includes them. `ValueError` when a part of the
    fold has no question left. Leaves torch with one thread in this process.
    """
    import torch

    # How a sum is shared among threads changes its last digits, and REINFORCE makes other walks of them: with one thread the
    # numbers are those of the seed whatever the number of cores. Tensors are small: one thread is not slower.
    torch.set_num_threads(1)
    parts = _parts(graphs, questions, fold, config)
    state = resume_state or TrainingState()
    stages = _Stages(graphs, parts, config, seed, state, on_epoch, device_of(device))
    arrays: Arrays = {}
    if config.ranker is not None:
        arrays |= stages.ranker(config.ranker)
    if config.reinforce is not None and config.mode != "static":
        arrays |= stages.router(config.reinforce)
    weights = RouterWeights(_header(graphs, fold, parts, config), arrays)
    tested = [question for group in parts["test"].values() for question in group]
    router = LearnedRouter(weights) if arrays else None
    return FoldResult(
        fold=fold,
        weights=weights,
        history=tuple(state.history),
        best_epochs=dict(state.best_epochs),
        walks=_test_walks(graphs, parts["test"], arrays, config),
        recalls=recall_rows(graphs, tested, router, config.walk),
    )


def baseline_walks(
    graphs: Mapping[str, EventGraph],
    questions: Sequence[RouterQuestion],
    episode_ids: Sequence[str],
    config: ReinforceConfig,
    seed: int = 0,
) -> dict[str, WalkScores]:
    """Walks that learned nothing, on some conversations: `random` (drawn by `seed`), `cosine` and `static`, both greedy."""
    import torch

    asked = by_episode([question for question in questions if question.episode_id in set(episode_ids)])
    packed = [(pack_graph(graphs[name]), pack_questions(graphs[name], group)) for name, group in asked.items()]
    policies: dict[str, Callable[[PackedGraph], Policy]] = {
        "random": lambda graph: UniformPolicy(),
        "cosine": lambda graph: CosinePolicy(),
        "static": lambda graph: StaticPolicy(graph.features, config.mix),
    }
    generators = {"random": torch.Generator().manual_seed(seed)}
    return {
        name: walk_scores(
            [(policy(graph), graph, group) for graph, group in packed], config.hops, config.reward, generators.get(name)
        )
        for name, policy in policies.items()
    }


Parts = Mapping[str, Mapping[str, tuple[RouterQuestion, ...]]]


def _parts(graphs: Mapping[str, EventGraph], questions: Sequence[RouterQuestion], fold: Fold, config: RouterConfig) -> Parts:
    """The trainable questions of train, validation and test, by episode."""
    asked = by_episode(trainable(questions, graphs, config.adversarial))
    parts = {
        part: {name: asked[name] for name in getattr(fold, part) if name in asked}
        for part in ("train", "validation", "test")
    }
    for part, found in parts.items():
        if not found:
            raise ValueError(f"fold {fold.index}: no {part} question has gold evidence among the events of its graph")
    return parts


@dataclass(frozen=True)
class _Stages:
    """The stages of one fold's training; each goes on where `state` stopped."""

    graphs: Mapping[str, EventGraph]
    parts: Parts
    config: RouterConfig
    seed: int
    state: TrainingState
    on_epoch: OnEpoch | None
    device: str

    def ranker(self, ranker: RankerConfig) -> Arrays:
        """Events by themselves, then what they gain over edges."""
        groups = {**self.parts["train"], **self.parts["validation"]}
        data = [rank_graph(self.graphs[name], group, ranker.pool, self.device) for name, group in groups.items()]
        training, mix = len(self.parts["train"]), self.config.walk.mix
        events = EventObjective(data, training, ranker, mix, self.seed)
        first = learn(ListwiseLearner(events, data, training, ranker, self.seed), self.state, self.on_epoch)
        exchange = ExchangeObjective(data, first, ranker, mix, self.seed)
        second = learn(ListwiseLearner(exchange, data, training, ranker, self.seed), self.state, self.on_epoch)
        return {f"ranker/{name}": array for name, array in {**first, **second}.items()}

    def router(self, reinforce: ReinforceConfig) -> Arrays:
        """The router's weights, and the edge features of every training graph as `edges/<episode id>`."""
        train, validation = self._packed("train"), self._packed("validation")
        learner = ReinforceLearner(train, validation, self.config.mode, reinforce, self.seed)
        learned = learn(learner, self.state, self.on_epoch)
        sizes = [len(graph.features) for graph, _ in train]
        features = np.split(learned[EDGES], np.cumsum(sizes)[:-1])
        by_graph = {f"edges/{name}": part for name, part in zip(self.parts["train"], features, strict=True)}
        return {f"router/{name}": array for name, array in learned.items() if name != EDGES} | by_graph

    def _packed(self, part: str) -> Walks:
        asked = self.parts[part]
        return [
            (pack_graph(self.graphs[name], self.device), pack_questions(self.graphs[name], group, self.device))
            for name, group in asked.items()
        ]


def _header(graphs: Mapping[str, EventGraph], fold: Fold, parts: Parts, config: RouterConfig) -> dict[str, object]:
    """See `RouterWeights`."""
    ranker = config.ranker or RankerConfig()
    return {
        "preset": config.name,
        "mode": config.mode,
        "mix": config.walk.mix,
        "dimension": int(graphs[fold.train[0]].vectors.shape[1]),
        "signals": list(SIGNALS),
        "relations": list(RELATIONS),
        "intents": list(INTENTS),
        "pool": ranker.pool,
        "sources": ranker.sources,
        "graphs": {name: graph_digest(lookup(graphs[name])) for name in parts["train"]},
    }


def _test_walks(
    graphs: Mapping[str, EventGraph], asked: Mapping[str, tuple[RouterQuestion, ...]], arrays: Arrays, config: RouterConfig
) -> WalkScores | None:
    """Greedy walks of the trained router on graphs that it has not seen, whose edges have their first features."""
    import torch

    router = {
        name.removeprefix("router/"): torch.from_numpy(array) for name, array in arrays.items() if name.startswith("router/")
    }
    if config.reinforce is None or not router:
        return None
    walks = []
    for name, group in asked.items():
        graph = pack_graph(graphs[name])
        policy = RouterPolicy(QueryRouter(router), graph.features, config.reinforce.mix)
        walks.append((policy, graph, pack_questions(graphs[name], group)))
    return walk_scores(walks, config.reinforce.hops, config.reinforce.reward)
