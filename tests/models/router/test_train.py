"""A fold as a whole: deterministic, resumable at every epoch, blind to test labels, and equal in numpy and torch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from models.router.batch import pack_graph, pack_questions
from models.router.evaluate import mean_recall, recall_gaps
from models.router.exchange import edge_inputs, exchange_inputs, log_shares
from models.router.folds import make_folds
from models.router.learned import LearnedRouter
from models.router.learner import EpochRecord, TrainingState
from models.router.policies import RouterPolicy
from models.router.presets import PRESETS, ReinforceConfig, RouterConfig, preset
from models.router.query_router import QueryRouter
from models.router.questions import RouterQuestion, trainable
from models.router.ranker import Ranker
from models.router.ranking_data import rank_graph
from models.router.train import FoldResult, baseline_walks, train_fold
from models.router.weights import WeightsError, dump_state, dump_weights, load_state, load_weights
from storage.structures.event_lookup import lookup
from storage.structures.event_walk import traverse
from storage.structures.events import EventGraph
from tests.models.router.test_ranker import SMALL
from tests.models.router.walking import conversations
from tests.storage.structures.linked_events import permuted

PAPER = replace(PRESETS["paper"], reinforce=ReinforceConfig(epochs=4, batch=8, hidden=(8, 4), evaluate_every=2))
BEST = replace(PRESETS["best"], ranker=SMALL)
GRAPHS, QUESTIONS = conversations()
FOLD = make_folds(GRAPHS)[0]


def train(config: RouterConfig, questions: list[RouterQuestion] | None = None, **options: object) -> FoldResult:
    return train_fold(GRAPHS, questions or QUESTIONS, FOLD, config, device="cpu", **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=["paper", "best"])
def config(request: pytest.FixtureRequest) -> RouterConfig:
    return {"paper": PAPER, "best": BEST}[request.param]


@pytest.fixture(scope="module")
def result(config: RouterConfig) -> FoldResult:
    return train(config)


def test_a_training_resumed_after_any_epoch_ends_as_one_that_never_stopped(config: RouterConfig, result: FoldResult) -> None:
    saved: list[bytes] = []
    train(config, on_epoch=lambda record, state: saved.append(dump_state(state)))
    assert len(saved) == len(result.history)
    for data in saved:
        again = train(config, resume_state=load_state(data))
        assert again.weights.digest == result.weights.digest
        assert again.history == result.history
        assert again.best_epochs == result.best_epochs


def test_the_seed_decides(config: RouterConfig, result: FoldResult) -> None:
    assert train(config, seed=0).recalls == result.recalls
    assert train(config, seed=1).weights.digest != result.weights.digest


def test_the_number_of_threads_does_not_decide(config: RouterConfig, result: FoldResult) -> None:
    torch.set_num_threads(2)
    assert train(config).weights.digest == result.weights.digest
    assert torch.get_num_threads() == 1  # these graphs are too small for the order of sums to show


def test_test_labels_change_nothing_but_the_test_numbers(config: RouterConfig, result: FoldResult) -> None:
    """Other gold steps for the test questions: the weights and the walks stay the same."""
    relabelled = [
        replace(question, targets=(int(GRAPHS[question.episode_id].steps[0]),))
        if question.episode_id in FOLD.test
        else question
        for question in QUESTIONS
    ]
    other = train(config, relabelled)
    assert other.weights.digest == result.weights.digest
    assert other.recalls != result.recalls


def test_the_checkpoint_is_the_best_epoch_of_validation(config: RouterConfig, result: FoldResult) -> None:
    for stage, best in result.best_epochs.items():
        records = [record for record in result.history if record.stage == stage]
        quality = {r.epoch: r.success if stage == "reinforce" else r.recall for r in records}
        validated = {epoch: value for epoch, value in quality.items() if value is not None}
        assert validated[best] == max(validated.values())
        assert best == min(epoch for epoch, value in validated.items() if value == validated[best])


def test_weights_come_back_from_bytes_with_their_name(config: RouterConfig, result: FoldResult) -> None:
    again = load_weights(dump_weights(result.weights))
    assert again.header == result.weights.header
    assert LearnedRouter(again).name == LearnedRouter(result.weights).name
    assert LearnedRouter(again).name.startswith(config.name)
    assert all(np.array_equal(array, result.weights.arrays[name]) for name, array in again.arrays.items())


def test_any_change_of_a_weight_changes_the_name(result: FoldResult) -> None:
    name = next(iter(result.weights.arrays))
    changed = {**result.weights.arrays, name: result.weights.arrays[name] + 1}
    assert replace(result.weights, arrays=changed).digest != result.weights.digest


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x02\0\0\0\0\0\0\0{}", dump_state(TrainingState())[:20]], ids=repr)
def test_a_damaged_file_is_refused(data: bytes) -> None:
    with pytest.raises(WeightsError):
        load_weights(data)
    with pytest.raises(WeightsError):
        load_state(data)


def test_weights_for_other_signals_are_refused(result: FoldResult) -> None:
    header = {**result.weights.header, "signals": ["something"]}
    with pytest.raises(WeightsError, match="other signals"):
        LearnedRouter(replace(result.weights, header=header))


def test_numpy_judges_edges_as_the_torch_router_does() -> None:
    weights = train(PAPER).weights
    graph, question = _test_question()
    packed = pack_graph(graph)
    router = QueryRouter({name: torch.from_numpy(array) for name, array in weights.part("router").items()})
    questions = pack_questions(graph, [question])
    every = packed.frontier(torch.arange(len(graph)))
    scorer = RouterPolicy(router, packed.features, 0.0).start(questions, torch.tensor([0]))
    scores = scorer(torch.zeros_like(every.row), every)
    judgement = LearnedRouter(weights).judge(graph, question.text, question.vector, question.intent)
    np.testing.assert_allclose(judgement.edges, scores.numpy(), atol=1e-5)
    assert not judgement.nodes.any()


def test_numpy_judges_events_and_edges_as_the_torch_ranker_does() -> None:
    weights = train(BEST).weights
    graph, question = _test_question()
    ranker = Ranker({name: torch.from_numpy(array) for name, array in weights.part("ranker").items()})
    data = rank_graph(graph, [question], SMALL.pool)
    values = ranker.values(data.signals)
    shares = log_shares(values, data.cosines, 0.5)
    final = values + ranker.gains(exchange_inputs(data, shares))
    edges = edge_inputs(data, shares, SMALL.sources)
    judgement = LearnedRouter(weights).judge(graph, question.text, question.vector, question.intent)
    np.testing.assert_allclose(judgement.nodes, final[0].numpy(), atol=1e-5)
    found = np.sort(judgement.edges[judgement.edges > 0])
    np.testing.assert_allclose(found, ranker.weights(edges.inputs).sort().values.numpy(), atol=1e-5)


def test_a_graph_that_was_trained_on_has_its_learned_edges_and_a_grown_one_its_own() -> None:
    weights = train(PAPER).weights
    name = FOLD.train[0]
    learned = weights.arrays[f"edges/{name}"]
    assert not np.array_equal(learned, lookup(GRAPHS[name]).features)
    question = next(question for question in QUESTIONS if question.episode_id == name)
    asked = (question.text, question.vector, question.intent)
    router = LearnedRouter(weights)
    stranger = replace(GRAPHS[name], episode_id="another name")
    assert not np.array_equal(router.judge(GRAPHS[name], *asked).edges, router.judge(stranger, *asked).edges)
    relabelled = replace(GRAPHS[name], steps=GRAPHS[name].steps + 1)
    np.testing.assert_array_equal(router.judge(relabelled, *asked).edges, router.judge(stranger, *asked).edges)


def test_the_order_of_the_arrays_changes_no_judgement_and_no_walk(config: RouterConfig, result: FoldResult) -> None:
    graph, question = _test_question()
    order = np.random.default_rng(0).permutation(len(graph))
    router, asked = LearnedRouter(result.weights), (question.text, question.vector, question.intent)
    walks = []
    for g in (graph, permuted(graph, order)):
        walk = traverse(g, *asked, router.judge(g, *asked), config.walk)
        walks.append((g.steps[list(walk.order)].tolist(), walk.scores))
    assert walks[0] == walks[1]


def test_static_mode_trains_nothing_and_walks_by_rules() -> None:
    result = train(replace(PAPER, mode="static"))
    assert (result.history, dict(result.weights.arrays), result.walks) == ((), {}, None)
    assert mean_recall(result.recalls)["H"][15] > 0


def test_recalls_cover_every_test_question_at_every_depth(result: FoldResult) -> None:
    tested = [question for question in QUESTIONS if question.episode_id in FOLD.test]
    assert len(result.recalls) == len(tested) * 4 * 2
    gaps = recall_gaps(result.recalls, "fusion")
    means = mean_recall(result.recalls)
    for gap in gaps:
        assert gap.n == len(tested)
        assert gap.mean == pytest.approx(means["H"][gap.depth] - means["fusion"][gap.depth])


def test_baseline_walks_are_of_the_given_conversations_and_seeded() -> None:
    config = ReinforceConfig()
    found = baseline_walks(GRAPHS, QUESTIONS, FOLD.test, config)
    assert set(found) == {"random", "cosine", "static"}
    assert {scores.n for scores in found.values()} == {sum(q.episode_id in FOLD.test for q in QUESTIONS)}
    assert found == baseline_walks(GRAPHS, QUESTIONS, FOLD.test, config)


def test_questions_without_evidence_and_adversarial_ones_teach_nothing() -> None:
    first = QUESTIONS[0]
    others = [
        replace(first, question_id="none", targets=()),
        replace(first, question_id="unknown", targets=(-5,)),
        replace(first, question_id="trick", capability="adversarial"),
        replace(first, question_id="elsewhere", episode_id="no graph"),
        replace(first, question_id="half", targets=(*first.targets, -5)),
    ]
    kept = trainable([first, *others], GRAPHS)
    assert [question.question_id for question in kept] == [first.question_id, "half"]
    assert kept[1].targets == first.targets
    assert len(trainable(others, GRAPHS, adversarial=True)) == 2


def test_a_fold_without_questions_is_refused() -> None:
    with pytest.raises(ValueError, match="fold 0: no test question"):
        train(PAPER, [question for question in QUESTIONS if question.episode_id not in FOLD.test])


def test_an_unknown_preset_is_answered_with_the_choices() -> None:
    with pytest.raises(ValueError, match="'fast': choose one of paper, best"):
        preset("fast")


def test_records_say_what_their_stage_has(config: RouterConfig, result: FoldResult) -> None:
    stages = {record.stage for record in result.history}
    assert stages == ({"reinforce"} if config.name == "paper" else {"events", "exchange"})
    first = result.history[0]
    assert isinstance(first, EpochRecord)
    assert (first.reward is None) == (config.name == "best")


def _test_question() -> tuple[EventGraph, RouterQuestion]:
    question = next(question for question in QUESTIONS if question.episode_id in FOLD.test)
    return GRAPHS[question.episode_id], question
