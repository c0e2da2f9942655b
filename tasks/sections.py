"""From the evidence table to the sections that a prompt is composed of, for the questions of one shard."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow.parquet as pq

from models.answer import AnswerTask
from models.baselines.long_context import trajectory_section
from models.compose import ComposeConfig, Section
from models.selector.policies import LONG_CONTEXT
from models.selector.subsets import SEPARATOR
from storage.artifacts import Home
from storage.records import CONVERSATION
from storage.shards import Shard, read_shard
from storage.structures.base import Evidence
from storage.structures.render import shows_cut, steps_by_episode
from storage.tables import TABLE


class ShardEvidence:
    """The evidence of a shard's questions by structure. `keys` maps a structure's letter to its evidence artifact."""

    def __init__(self, home: Home, shard: Shard, keys: Mapping[str, str], compose: ComposeConfig):
        self.questions = {row["question_id"]: row for row in read_shard(home, shard, "questions").to_pylist()}
        self._episodes: dict[str, dict[str, Any]] = {
            row["episode_id"]: row for row in read_shard(home, shard, "episodes").to_pylist()
        }
        self._rows = {letter: evidence_rows(home, key) for letter, key in keys.items()}
        self._home, self._shard, self._compose = home, shard, compose
        self._trajectories: dict[str, Section] = {}

    def task(self, question_id: str) -> str:
        """The task text of the question's episode."""
        return str(self._episode(question_id)["task"])

    def is_conversation(self, question_id: str) -> bool:
        """Whether the question's episode is a dialogue."""
        return bool(self._episode(question_id)["task_type"] == CONVERSATION)

    def _episode(self, question_id: str) -> dict[str, Any]:
        return self._episodes[self.questions[question_id]["episode_id"]]

    def sections(self, question_id: str, subset: str) -> tuple[Section, ...]:
        """The sections that `subset` (or long-context) reads for a question."""
        if subset == LONG_CONTEXT:
            return (self._trajectory(self.questions[question_id]["episode_id"]),)
        rows = ((letter, self._rows[letter][question_id]) for letter in subset.split(SEPARATOR))
        return tuple(Section(letter, r["text"], tuple(r["block_starts"]), r["n_tokens"]) for letter, r in rows)

    def localised(self, question_id: str, subset: str) -> bool:
        """Whether any of the structures found something that matches the question."""
        if subset == LONG_CONTEXT:
            return True
        return any(self._rows[letter][question_id]["localised"] for letter in subset.split(SEPARATOR))

    def _trajectory(self, episode_id: str) -> Section:
        if not self._trajectories:
            episodes = steps_by_episode(read_shard(self._home, self._shard, "steps"))
            self._trajectories = {e: trajectory_section(rows, self._compose) for e, rows in episodes.items()}
        return self._trajectories[episode_id]


def evidence_row(question_id: str, letter: str, evidence: Evidence, milliseconds: float) -> dict[str, Any]:
    """A row of `schemas.EVIDENCE`, its `n_tokens` still to be counted."""
    return {
        "question_id": question_id,
        "structure": letter,
        "text": evidence.text,
        "n_tokens": 0,
        "steps": list(evidence.steps),
        "scores": list(evidence.scores),
        "truncated": shows_cut(evidence.text),
        "access_tokens": 0,
        "ms": round(milliseconds, 3),
        "block_starts": list(evidence.block_starts),
        "localised": evidence.localised,
    }


def evidence_rows(home: Home, key: str) -> dict[str, dict[str, Any]]:
    """The rows of one evidence artifact by question id."""
    table = pq.read_table(f"{home.require(key)}/{TABLE}", filesystem=home.fs)
    return {row["question_id"]: row for row in table.to_pylist()}


def letters_of(subsets: Collection[str]) -> set[str]:
    """The structures that any of the subsets reads."""
    return {letter for subset in subsets if subset != LONG_CONTEXT for letter in subset.split(SEPARATOR)}


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


def n_structures(subset: str) -> int:
    """How many structures a subset reads; the trajectory itself is none."""
    return 0 if subset == LONG_CONTEXT else subset.count(SEPARATOR) + 1
