"""The nouns of Strata as plain records: an episode with its steps and questions.

A corpus reader yields `Episode`s; everything downstream reads the Parquet tables made from them (`storage/tables.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

CAPABILITIES = (
    "recall",
    "causal",
    "update",
    "abstraction",
    "multi_hop",
    "temporal",
    "open_domain",
    "single_hop",
    "adversarial",
    "bridge",
    "comparison",
)

CONVERSATION = "conversation"
"""The task type of every conversation."""

ABSTENTION = "No information available"
"""The gold answer of a question that the episode cannot answer (LoCoMo's own wording)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One (action, observation) of a trajectory, or one dated turn of a conversation.

    `step` is the label in the data, which questions use. `timestamp` is aware (UTC) or None. `ref` is the data set's own
    name for the step, such as `D3:7`. `extra` keeps fields of the source that Strata does not know.
    """

    step: int
    action: str
    observation: str
    speaker: str | None = None
    session: int | None = None
    timestamp: datetime | None = None
    ref: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """One question about an episode with its gold answer.

    `evidence_steps` are gold step labels where the data has them; `unresolved_refs` are gold references that name no step.
    Both are for scoring only and never reach a retriever, a prompt or a policy.
    """

    index: int
    question: str
    answer: str
    capability: str
    evidence_refs: tuple[str, ...] = ()
    evidence_steps: tuple[int, ...] = ()
    unresolved_refs: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Episode:
    """One trajectory or one multi-session conversation. `steps` are sorted by label, labels are unique."""

    dataset: str
    episode_id: str
    task: str
    task_type: str
    domain: str
    steps: tuple[Step, ...]
    questions: tuple[Question, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)


def question_id(dataset: str, episode_id: str, index: int) -> str:
    """The key of a question everywhere: text is no key, since data sets repeat questions."""
    return f"{dataset}/{episode_id}/{index}"


def content_hash(episode: Episode) -> str:
    """SHA-256 of everything an episode says, independent of how its file spelt it (64 hex digits).

    Key order, line endings, a byte order mark and the order of the steps in the file are gone by the time a reader yields
    an `Episode`, so equal content has an equal hash whatever file it came from.
    """
    body = {
        "task": episode.task,
        "task_type": episode.task_type,
        "domain": episode.domain,
        "extra": episode.extra,
        "steps": [
            [
                s.step,
                s.action,
                s.observation,
                s.speaker,
                s.session,
                None if s.timestamp is None else s.timestamp.isoformat(),
                s.ref,
                s.extra,
            ]
            for s in sorted(episode.steps, key=lambda s: s.step)
        ],
        "questions": [
            [
                q.index,
                q.question,
                q.answer,
                q.capability,
                q.evidence_refs,
                q.evidence_steps,
                q.unresolved_refs,
                q.extra,
            ]
            for q in episode.questions
        ],
    }
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
