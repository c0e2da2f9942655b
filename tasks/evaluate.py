"""Answers, scores and support as cached tasks per shard."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from prefect.futures import PrefectFuture

from models.answer import Answer
from models.compose import Section, compose
from models.metrics.support import SupportGold, distinct_tokens
from storage import schemas
from storage.artifacts import Draft, Home
from storage.records import ABSTENTION
from storage.shards import Shard, writer_lock
from storage.tables import TABLE
from tasks.artifact_task import artifact_task
from tasks.cache import Assignment, outcomes_key
from tasks.evaluation import Evaluation, PolicyPlan
from tasks.paid import paid_answers
from tasks.scoring import Asked, score_answers
from tasks.sections import ShardEvidence, answer_task, n_structures
from tasks.settings import Settings
from tasks.sweep import Sweep, SweepShard


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
    with writer_lock(home, f"answers-{shard.name}"):  # policies that run side by side must not pay for the same prompt
        answers = paid_answers(home, settings, tasks, budget_id)
    rows = [_answer_row(answer, subset, settings.answerer) for answer, (_, subset) in zip(answers, assignment, strict=True)]
    _write(draft, rows, schemas.ANSWERS)
    draft.manifest |= {"shard": shard.key, "evidence": dict(evidence)}
    draft.manifest["errors"] = sum(answer.status != "ok" for answer in answers)
    draft.manifest["tokens"] = sum(answer.prompt_tokens + answer.completion_tokens for answer in answers)


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


@artifact_task
def score_shard(
    home: Home, draft: Draft, settings: Settings, shard: Shard, answers: str, metric: str, budget_id: str
) -> None:
    """Score the answers of an artifact with `metric`: a key of `METRICS`, or `judge`."""
    rows = pq.read_table(f"{home.require(answers)}/{TABLE}", filesystem=home.fs).to_pylist()
    source = ShardEvidence(home, shard, {}, settings.compose)
    asked = [Asked(source.questions[r["question_id"]], source.task(r["question_id"]), _text(r)) for r in rows]
    with writer_lock(home, f"scores-{shard.name}"):
        scores = score_answers(home, settings, metric, asked, budget_id)
    judge = settings.judge if metric == "judge" else ""
    outcomes = [_outcome(row, score, status, metric, judge) for row, (score, status) in zip(rows, scores, strict=True)]
    _write(draft, outcomes, schemas.OUTCOMES)
    draft.manifest["errors"] = sum(outcome["status"] == "error" for outcome in outcomes)


def _text(row: Mapping[str, Any]) -> str | None:
    return str(row["answer"]) if row["status"] == "ok" else None


def _outcome(row: Mapping[str, Any], score: float | None, status: str, metric: str, judge: str) -> dict[str, Any]:
    kept = {name: row[name] for name in schemas.OUTCOMES.names if name in row}
    return {**kept, "score": score, "metric": metric, "status": status, "judge": judge}


@artifact_task
def support_shard(
    home: Home, draft: Draft, settings: Settings, shard: Shard, evidence: Mapping[str, str], assignment: Assignment
) -> None:
    """Score the composed evidence itself: outcomes with the metric `support` and no answer.

    The score is null for adversarial questions and for those whose gold answer adds no token to the question: they say
    nothing about an access and are in no mean.
    """
    source = ShardEvidence(home, shard, evidence, settings.compose)
    tokens = _TokenSets()
    rows = [_support_row(source, settings, tokens, question, subset) for question, subset in assignment]
    _write(draft, rows, schemas.OUTCOMES)
    draft.manifest |= {"shard": shard.key, "evidence": dict(evidence)}


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
) -> dict[str, Any]:
    question = source.questions[question_id]
    started = time.perf_counter()
    sections = source.sections(question_id, subset)
    composed = compose(question["question"], source.task(question_id), sections, settings.compose)
    gold = SupportGold.of(question["question"], question["answer"])
    score = None if question["answer"] == ABSTENTION else gold.share(tokens.union(question_id, composed.evidence))
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


def submit_sweep(home: Home, sweep: Sweep, part: SweepShard, budget_id: str) -> PrefectFuture[str]:
    """Submit the answers (or the support) that a sweep lacks on one shard."""
    settings, shard = sweep.settings, part.shard.shard
    if not sweep.needs_answers:
        return support_shard.submit(home, part.key, [], settings, shard, part.evidence, part.missing)
    return answer_shard.submit(home, part.key, [], settings, shard, part.evidence, part.missing, budget_id)


def submit_sweep_scores(home: Home, sweep: Sweep, part: SweepShard, answers: str, budget_id: str) -> PrefectFuture[str]:
    """Submit the scores of one artifact of answers that a sweep reads."""
    key = outcomes_key(answers, sweep.metric, sweep.judge, sweep.settings.judging)
    return score_shard.submit(home, key, [], sweep.settings, part.shard.shard, answers, sweep.metric, budget_id)


def _write(draft: Draft, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), draft.folder / TABLE, compression="zstd")
    draft.manifest["rows"] = len(rows)
