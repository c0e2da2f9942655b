"""Answers, scores and support as cached tasks per shard."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from prefect.futures import PrefectFuture

from models.answer import Answer, AnswerTask
from models.compose import Section, compose
from models.judge import JudgeItem, Judgement
from models.metrics import METRICS
from models.metrics.support import SupportGold, distinct_tokens
from models.selector.policies import LONG_CONTEXT
from models.selector.subsets import SEPARATOR
from storage import schemas
from storage.artifacts import Draft, Home, digest
from storage.journal import Journal
from storage.records import ABSTENTION
from storage.shards import Shard
from storage.tables import TABLE
from tasks.budget import budget
from tasks.cache import Assignment, artifact_task
from tasks.evaluation import Evaluation, PolicyPlan
from tasks.readers import EXTRACTIVE, make_answerer, make_judge
from tasks.sections import ShardEvidence
from tasks.settings import Settings

BATCH = 64
"""Requests between two looks at the token budget."""

JUDGE_TOKENS = 64
"""Tokens of a verdict that a budget reserves; a reasoning judge may use more, and is counted as it does."""


@artifact_task
def answer_shard(
    home: Home,
    draft: Draft,
    settings: Settings,
    shard: Shard,
    evidence: Mapping[str, str],
    assignment: Assignment,
    budget_id: str,
) -> None:
    """Answer each question of `assignment` from the evidence artifacts in `evidence` (letter to key)."""
    source = ShardEvidence(home, shard, evidence, settings.compose)
    tasks = [answer_task(source, question, subset) for question, subset in assignment]
    answers = _answers(home, settings, tasks, budget_id)
    rows = [_answer_row(answer, subset, settings.answerer) for answer, (_, subset) in zip(answers, assignment, strict=True)]
    _write(draft, rows, schemas.ANSWERS)
    draft.manifest["errors"] = sum(answer.status != "ok" for answer in answers)
    draft.manifest["tokens"] = sum(answer.prompt_tokens + answer.completion_tokens for answer in answers)


def answer_task(source: ShardEvidence, question_id: str, subset: str) -> AnswerTask:
    """What an answerer gets to see of a question: its text, the task and the evidence. Never gold."""
    return AnswerTask(
        question_id=question_id,
        question=source.questions[question_id]["question"],
        task=source.task(question_id),
        sections=source.sections(question_id, subset),
        localised=source.localised(question_id, subset),
        conversation=source.is_conversation(question_id),
    )


def _answers(home: Home, settings: Settings, tasks: Sequence[AnswerTask], budget_id: str) -> list[Answer]:
    """Answers in order. Those of a language model are journalled as they arrive and never asked for twice."""
    answerer = make_answerer(settings)
    if settings.answerer == EXTRACTIVE:
        return answerer.answer(tasks)
    journal = Journal(home, "answer")
    keys = [digest(["answer", answerer.name, settings.answer, asdict(task)]) for task in tasks]
    found: dict[int, Answer] = {i: Answer(**value) for i, key in enumerate(keys) if (value := journal.get(key)) is not None}
    for batch in _batches([i for i in range(len(tasks)) if i not in found]):
        budget(budget_id).check(sum(_expected_tokens(tasks[i], settings) for i in batch))

        def keep(position: int, answer: Answer, batch: Sequence[int] = batch) -> None:
            found[batch[position]] = answer
            budget(budget_id).spend(answer.prompt_tokens + answer.completion_tokens)
            if answer.status == "ok":  # an error is asked again next time
                journal.put(keys[batch[position]], answer.question_id.rsplit("/", 1)[0], asdict(answer))

        answerer.answer([tasks[i] for i in batch], keep)
    return [found[i] for i in range(len(tasks))]


def _expected_tokens(task: AnswerTask, settings: Settings) -> int:
    composed = compose(task.question, task.task, task.sections, settings.compose)
    return composed.prompt_tokens + settings.compose.answer_tokens


def _batches(indices: Sequence[int]) -> Iterator[Sequence[int]]:
    return (indices[start : start + BATCH] for start in range(0, len(indices), BATCH))


def _answer_row(answer: Answer, subset: str, answerer: str) -> dict[str, Any]:
    return {
        "question_id": answer.question_id,
        "subset": subset,
        "n_structures": n_structures(subset),
        "evidence_tokens": answer.evidence_tokens,
        "prompt_tokens": answer.prompt_tokens,
        "cached_tokens": answer.cached_tokens,
        "completion_tokens": answer.completion_tokens,
        "answer": answer.text,
        "status": answer.status,
        "error": answer.error,
        "truncated": list(answer.truncated),
        "answerer": answerer,
        "ms": round(answer.seconds * 1_000, 3),
    }


def n_structures(subset: str) -> int:
    """How many structures a subset reads; the trajectory itself is none."""
    return 0 if subset == LONG_CONTEXT else subset.count(SEPARATOR) + 1


@artifact_task
def score_shard(
    home: Home, draft: Draft, settings: Settings, shard: Shard, answers: str, metric: str, budget_id: str
) -> None:
    """Score the answers of an artifact with `metric`: a key of `METRICS`, or `judge`."""
    rows = pq.read_table(f"{home.require(answers)}/{TABLE}", filesystem=home.fs).to_pylist()
    questions = ShardEvidence(home, shard, {}, settings.compose)
    scores = (_judged if metric == "judge" else _measured(metric))(home, settings, questions, rows, budget_id)
    judge = settings.judge if metric == "judge" else ""
    outcomes = [_outcome(row, score, status, metric, judge) for row, (score, status) in zip(rows, scores, strict=True)]
    _write(draft, outcomes, schemas.OUTCOMES)
    draft.manifest["errors"] = sum(outcome["status"] == "error" for outcome in outcomes)


Scored = list[tuple[float | None, str]]
"""(score, status) per answer; the score is None unless the status is `ok`."""


def _measured(metric: str) -> Callable[..., Scored]:
    def score(_: Home, __: Settings, source: ShardEvidence, rows: Sequence[Mapping[str, Any]], ___: str) -> Scored:
        return [
            (_metric(metric, source.questions[r["question_id"]], r), "ok") if r["status"] == "ok" else (None, "error")
            for r in rows
        ]

    return score


def _metric(metric: str, question: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    return METRICS[metric](row["answer"], question["answer"], question["capability"])


def _judged(
    home: Home, settings: Settings, source: ShardEvidence, rows: Sequence[Mapping[str, Any]], budget_id: str
) -> Scored:
    items = {i: _judge_item(source, row) for i, row in enumerate(rows) if row["status"] == "ok"}
    judgements = dict(zip(items, judge_items(home, settings, list(items.values()), budget_id), strict=True))
    return [verdict_score(judgements[i]) if i in judgements else (None, "error") for i in range(len(rows))]


def verdict_score(judgement: Judgement) -> tuple[float | None, str]:
    """(score, status) of a verdict; only a clear yes or no has a score."""
    if judgement.verdict in ("correct", "incorrect"):
        return float(judgement.verdict == "correct"), "ok"
    return None, judgement.verdict


def _judge_item(source: ShardEvidence, row: Mapping[str, Any]) -> JudgeItem:
    question = source.questions[row["question_id"]]
    return JudgeItem(
        row["question_id"], question["question"], question["answer"], row["answer"], source.task(row["question_id"])
    )


def judge_items(home: Home, settings: Settings, items: Sequence[JudgeItem], budget_id: str) -> list[Judgement]:
    """Verdicts in order, journalled as they arrive; a verdict that is in the journal is not paid for again."""
    judge = make_judge(settings)
    journal = Journal(home, "judge")
    keys = [digest(["judge", judge.name, settings.judging, asdict(item)]) for item in items]
    found = {i: Judgement(**value) for i, key in enumerate(keys) if (value := journal.get(key)) is not None}
    for batch in _batches([i for i in range(len(items)) if i not in found]):
        budget(budget_id).check(sum(len(items[i].prediction + items[i].reference) // 3 + JUDGE_TOKENS for i in batch))

        def keep(position: int, judgement: Judgement, batch: Sequence[int] = batch) -> None:
            found[batch[position]] = judgement
            budget(budget_id).spend(judgement.prompt_tokens + judgement.completion_tokens)
            if judgement.verdict != "error":
                journal.put(keys[batch[position]], judgement.question_id.rsplit("/", 1)[0], asdict(judgement))

        judge.judge([items[i] for i in batch], keep)
    return [found[i] for i in range(len(items))]


def _outcome(row: Mapping[str, Any], score: float | None, status: str, metric: str, judge: str) -> dict[str, Any]:
    kept = {name: row[name] for name in schemas.OUTCOMES.names if name in row}
    return {**kept, "score": score, "metric": metric, "status": status, "judge": judge}


@artifact_task
def support_shard(
    home: Home, draft: Draft, settings: Settings, shard: Shard, evidence: Mapping[str, str], assignment: Assignment
) -> None:
    """Score the composed evidence itself: outcomes with the metric `support` and no answer.

    Questions whose gold answer adds no token to the question have no support and no row; nor have adversarial ones.
    """
    source = ShardEvidence(home, shard, evidence, settings.compose)
    tokens = _TokenSets()
    rows = [_support_row(source, settings, tokens, question, subset) for question, subset in assignment]
    _write(draft, [row for row in rows if row is not None], schemas.OUTCOMES)


class _TokenSets:
    """Token sets of evidence texts; the texts of one question come back with every subset."""

    def __init__(self) -> None:
        self._question = ""
        self._sets: dict[str, frozenset[str]] = {}

    def union(self, question_id: str, sections: Sequence[Section]) -> frozenset[str]:
        if question_id != self._question:
            self._question, self._sets = question_id, {}
        for section in sections:
            if section.text not in self._sets:
                self._sets[section.text] = distinct_tokens(section.text)
        return frozenset().union(*(self._sets[section.text] for section in sections))


def _support_row(
    source: ShardEvidence, settings: Settings, tokens: _TokenSets, question_id: str, subset: str
) -> dict[str, Any] | None:
    question = source.questions[question_id]
    if question["answer"] == ABSTENTION:
        return None
    started = time.perf_counter()
    sections = source.sections(question_id, subset)
    composed = compose(question["question"], source.task(question_id), sections, settings.compose)
    score = SupportGold.of(question["question"], question["answer"]).share(tokens.union(question_id, composed.evidence))
    if score is None:
        return None
    return {
        "question_id": question_id,
        "subset": subset,
        "n_structures": n_structures(subset),
        "evidence_tokens": composed.evidence_tokens,
        "prompt_tokens": composed.prompt_tokens,
        "cached_tokens": 0,
        "completion_tokens": 0,
        "answer": None,
        "score": score,
        "metric": "support",
        "status": "ok",
        "answerer": "none",
        "judge": "",
        "ms": round((time.perf_counter() - started) * 1_000, 3),
    }


def submit_answers(home: Home, evaluation: Evaluation, plan: PolicyPlan, budget_id: str) -> PrefectFuture[str]:
    """Submit the answers of one policy on one shard."""
    shard = plan.shard.shard
    return answer_shard.submit(home, plan.answers, [], evaluation.settings, shard, plan.evidence, plan.assignment, budget_id)


def submit_scores(home: Home, evaluation: Evaluation, plan: PolicyPlan, budget_id: str) -> PrefectFuture[str]:
    """Submit the scores of answers that are done."""
    return score_shard.submit(
        home, plan.outcomes, [], evaluation.settings, plan.shard.shard, str(plan.answers), evaluation.metric, budget_id
    )


def submit_support(home: Home, evaluation: Evaluation, plan: PolicyPlan) -> PrefectFuture[str]:
    """Submit the support of what one policy reads on one shard."""
    return support_shard.submit(
        home, plan.support, [], evaluation.settings, plan.shard.shard, plan.evidence, plan.assignment
    )


def _write(draft: Draft, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), draft.folder / TABLE, compression="zstd")
    draft.manifest["rows"] = len(rows)
