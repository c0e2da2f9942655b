"""The pipeline from a source file to scores, stage by stage in this process, and small sources to feed it.

The stages are those of the flows, called without a Prefect server; `ask` is what `strata ask` calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from storage.artifacts import ArtifactKey, Home
from storage.shards import Dataset, load_dataset, read_shard
from storage.tables import TABLE
from tasks.access import access_evidence
from tasks.ask import ask
from tasks.budget import open_budget
from tasks.build import build_structure, commit_vectors
from tasks.derive import derive
from tasks.evaluate import answer_shard, score_shard, support_shard
from tasks.evaluation import Evaluation, EvaluationConfig, plan_evaluation
from tasks.ingest import ingest_corpus
from tasks.plan import BuildPlan, needs_vectors
from tasks.settings import Settings

Row = dict[str, Any]
WITHOUT_VECTORS = "STGR"
"""The structures that need no encoder."""


@dataclass(frozen=True)
class Pipeline:
    """One data set in a home. Every stage skips what is finished, as in a flow."""

    home: Home
    dataset: str = "ama-bench"
    settings: Settings = field(default_factory=Settings)

    def ingest(self, source: Path) -> Row:
        """The ingest report."""
        report: Row = ingest_corpus.fn(self.home.url, self.dataset, str(source), self.settings, None)
        return report

    def build(self, letters: str = WITHOUT_VECTORS) -> list[ArtifactKey]:
        """Build structures and the evidence of all questions; return the keys that were missing."""
        plan = BuildPlan.of(self.home, load_dataset(self.home, self.dataset), tuple(letters), self.settings)
        missing = plan.missing(self.home)
        url = self.home.url
        for part in plan.shards:
            vectors = [] if part.question_vectors is None else [part.question_vectors]
            for maker, key in (*part.derived.values(), *vectors):
                needs = {name: str(part.derived[name][1]) for name in maker.needs}
                derive.task.fn(url, key, maker, part.shard, needs)
            for letter, key in part.structures.items():
                derived = {name: str(part.derived[name][1]) for name in plan.structures[letter].derives}
                build_structure.task.fn(url, key, plan.structures[letter], part.shard, derived)
                if letter == "V":
                    commit_vectors.fn(url, plan.structures[letter], [str(key)])
            for letter, key in part.evidence.items():
                asks = part.question_vectors and needs_vectors(plan.structures[letter])
                questions = str(part.question_vectors[1]) if asks and part.question_vectors else None
                built = str(part.structures[letter])
                access_evidence.task.fn(url, key, plan.structures[letter], built, part.shard, questions, self.settings)
        return missing

    def plan(self, *policies: str, metric: str = "f1", letters: str = WITHOUT_VECTORS) -> Evaluation:
        """What an evaluation of policies consists of."""
        return plan_evaluation(self.home, self.dataset, EvaluationConfig(policies, metric, tuple(letters)), self.settings)

    def evaluate(self, *policies: str, metric: str = "f1", letters: str = WITHOUT_VECTORS) -> list[Row]:
        """Answer, score and measure; return the outcomes, policy by policy."""
        evaluation = self.plan(*policies, metric=metric, letters=letters)
        url, settings, budget = self.home.url, self.settings, open_budget(None)
        for plan in evaluation.plans:
            shard, assignment, metric = plan.shard.shard, plan.assignment, evaluation.metric
            answer_shard.task.fn(url, plan.answers, settings, shard, plan.evidence, assignment, budget)
            score_shard.task.fn(url, plan.outcomes, settings, shard, str(plan.answers), metric, budget)
            support_shard.task.fn(url, plan.support, settings, shard, plan.evidence, assignment)
        return [row for plan in evaluation.plans for row in self.read(plan.outcomes)]

    def read(self, key: ArtifactKey) -> list[Row]:
        """The rows of an artifact that is one table."""
        rows: list[Row] = pq.read_table(f"{self.home.require(key)}/{TABLE}").to_pylist()
        return rows

    def table(self, name: str) -> list[Row]:
        """The rows of `episodes`, `steps` or `questions`, shard by shard, superseded ones included."""
        return [row for shard in self.live.shards for row in read_shard(self.home, shard, name).to_pylist()]

    @property
    def live(self) -> Dataset:
        return load_dataset(self.home, self.dataset)

    def evidence(self, letter: str) -> list[Row]:
        """The evidence of every question from one structure, in the order of the questions."""
        plan = BuildPlan.of(self.home, self.live, (letter,), self.settings)
        return [row for part in plan.shards for row in self.read(part.evidence[letter])]

    def ask(self, question: str, letters: str, episode: str = "0") -> Row:
        """The answer to any question, with what each structure gave under `evidence`."""
        return ask(self.home, self.dataset, episode, question, self.settings, tuple(letters))

    def reads(self, question: str, letters: str, episode: str = "0") -> dict[str, Row]:
        """What each structure gives for a question."""
        return {read["structure"]: read for read in self.ask(question, letters, episode)["evidence"]}


def trajectory(turns: Iterable[tuple[str, Any]]) -> list[Row]:
    """AMA-Bench's turns from (action, observation)."""
    return [{"turn_idx": i, "action": action, "observation": seen} for i, (action, seen) in enumerate(turns)]


def ama_episode(turns: Sequence[Row], *questions: tuple[str, Any], **fields: Any) -> Row:
    """One AMA-Bench row, with questions as (question, gold answer)."""
    pairs = [{"question": question, "answer": answer, "type": "A"} for question, answer in questions]
    row = {"episode_id": 0, "task": "tidy the room", "task_type": "alfworld", "domain": "EMBODIED_AI"}
    return {**row, "success": True, "trajectory": turns, "qa_pairs": pairs, **fields}


def conversation(sessions: Sequence[tuple[str, Sequence[Row]]], *pairs: Row, **fields: Any) -> Row:
    """One LoCoMo row: `sessions` are (date and time, turns), numbered from 1."""
    talk: Row = {"speaker_a": "Ann", "speaker_b": "Bo"}
    for number, (time, turns) in enumerate(sessions, start=1):
        talk |= {f"session_{number}_date_time": time, f"session_{number}": list(turns)}
    return {"sample_id": "conv-1", "conversation": talk, "qa": list(pairs), **fields}


def said(ref: str, speaker: str, text: str, **fields: Any) -> Row:
    """One turn of a conversation."""
    return {"speaker": speaker, "dia_id": ref, "text": text, **fields}


def write_jsonl(path: Path, rows: Sequence[Row]) -> Path:
    """One JSON object a line. Lone surrogates are written as escapes, as any JSON library does."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
