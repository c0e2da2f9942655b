"""AMA-Bench: agent trajectories of six domains with twelve questions each (one JSON object per line).

    {"episode_id": 0, "task": "...", "task_type": "babaisai", "domain": "Game", "success": false, "num_turns": 100,
     "trajectory": [{"turn_idx": 0, "action": "left", "observation": "Active rules: ..."}, ...],
     "qa_pairs": [{"question": "...", "answer": "...", "type": "A", "sub_type": ""}, ...]}

Fields that are not read here stay in `extra`, also those that tell how the episode ended (`success`): `extra` reaches no
retriever and no prompt. AMA-Bench has no gold evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from storage.corpora.base import CorpusError, ReadReport
from storage.corpora.jsonl import RecordError, as_objects, as_text, read_episodes, unread
from storage.records import Episode, Question, Step

HUB_REPO = "AMA-bench/AMA-Bench"
HUB_FILE = "test/open_end_qa_set.jsonl"
HUB_REVISION = "a5777378066f53229a94557a7b192435cd027909"

DOMAINS: Mapping[str, tuple[str, ...]] = {
    "TEXT2SQL": ("text2sql", "text_2_sql", "text_to_sql", "sql"),
    "SOFTWARE": ("software", "software_engineer", "software_engineering", "swe"),
    "WEB": ("web", "web_navigation", "web_agent"),
    "Game": ("game", "games", "gaming"),
    "EMBODIED_AI": ("embodied_ai", "embodied", "embodiedai"),
    "OPENWORLD_QA": ("openworld_qa", "open_world_qa", "openworldqa", "open_world", "openworld"),
}
"""The domains as the official file spells them, with the other spellings in use (lower case, words joined by `_`)."""

_DOMAIN_OF = {alias: domain for domain, aliases in DOMAINS.items() for alias in aliases}
_CAPABILITY_OF = {
    "a": "recall",
    "b": "causal",
    "c": "update",
    "d": "abstraction",
    "causal_inference": "causal",
    "state_updating": "update",
    "state_abstraction": "abstraction",
} | {word: word for word in ("recall", "causal", "update", "abstraction")}
_EPISODE_FIELDS = {"episode_id", "task", "task_type", "domain", "trajectory", "qa_pairs"}
_STEP_FIELDS = {"turn_idx", "action", "observation"}
_QUESTION_FIELDS = {"question", "answer", "type"}


@dataclass(frozen=True)
class AmaBench:
    """Reader of AMA-Bench's open-ended set.

    `cache` is the folder for the pinned download; empty means the Hugging Face hub's own cache (`HF_HOME`).
    Warnings: `unknown_domains`, `non_string_texts` (task, action, observation), `non_string_answers`, `empty_answers`.
    """

    cache: str = ""

    @property
    def name(self) -> str:
        """The data set's name."""
        return "ama-bench"

    def read(self, source: str | None, report: ReadReport) -> Iterator[Episode]:
        """Yield the episodes of a JSONL file, a folder of them, or (None) the pinned download.

        An episode is left out as a bad record when it has no id, no steps, two steps with the same `turn_idx`, or a
        question without text, without answer or of an unknown type: to guess a type would put a wrong label into every
        per-capability score. Raises `CorpusError` when nothing can be read.
        """
        return read_episodes(_download(self.cache) if source is None else source, report, self._episode)

    def _episode(self, value: dict[str, Any], warnings: Counter[str]) -> Episode:
        episode_id = _episode_id(value.get("episode_id"))
        return Episode(
            dataset=self.name,
            episode_id=episode_id,
            task=as_text(value.get("task"), warnings, "non_string_texts"),
            task_type=str(value.get("task_type") or ""),
            domain=_domain(value.get("domain"), warnings),
            steps=_steps(episode_id, value.get("trajectory"), warnings),
            questions=_questions(episode_id, value.get("qa_pairs"), warnings),
            extra=unread(value, _EPISODE_FIELDS),
        )


def _download(cache: str) -> str:
    import httpx2  # the hub client's own HTTP library: an interrupted transfer raises its errors
    from huggingface_hub import hf_hub_download

    try:
        return hf_hub_download(HUB_REPO, HUB_FILE, repo_type="dataset", revision=HUB_REVISION, cache_dir=cache or None)
    except (OSError, httpx2.HTTPError) as error:
        raise CorpusError(
            f"{HUB_REPO}: the download from the Hugging Face hub failed ({error}); "
            f"download {HUB_FILE} by other means and pass its path"
        ) from error


def _episode_id(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise RecordError(f"episode_id is {value!r}; it must be a number or a text")
    return str(value)


def _domain(value: object, warnings: Counter[str]) -> str:
    text = str(value or "")
    domain = _DOMAIN_OF.get(re.sub(r"[\s_-]+", "_", text.strip().lower()))
    if domain is None:
        warnings["unknown_domains"] += 1
        return text
    return domain


def _steps(episode_id: str, turns: object, warnings: Counter[str]) -> tuple[Step, ...]:
    found = as_objects(turns, f"episode {episode_id}: trajectory")
    if not found:
        raise RecordError(f"episode {episode_id}: trajectory is missing or empty")
    steps = [_step(episode_id, i, turn, warnings) for i, turn in enumerate(found)]
    label, n = Counter(step.step for step in steps).most_common(1)[0]
    if n > 1:
        raise RecordError(f"episode {episode_id}: {n} steps have turn_idx {label}; a turn_idx must be unique")
    return tuple(sorted(steps, key=lambda step: step.step))


def _step(episode_id: str, position: int, turn: dict[str, Any], warnings: Counter[str]) -> Step:
    label = turn.get("turn_idx")
    if label is None:
        label = position
    if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label < 2**31:
        raise RecordError(
            f"episode {episode_id}: trajectory[{position}].turn_idx is {label!r}; it must be a number from 0 on"
        )
    return Step(
        step=label,
        action=as_text(turn.get("action"), warnings, "non_string_texts"),
        observation=as_text(turn.get("observation"), warnings, "non_string_texts"),
        extra=unread(turn, _STEP_FIELDS),
    )


def _questions(episode_id: str, pairs: object, warnings: Counter[str]) -> tuple[Question, ...]:
    found = as_objects(pairs, f"episode {episode_id}: qa_pairs")
    return tuple(_question(f"episode {episode_id}: qa_pairs[{i}]", i, pair, warnings) for i, pair in enumerate(found))


def _question(where: str, index: int, pair: dict[str, Any], warnings: Counter[str]) -> Question:
    question, kind = pair.get("question"), pair.get("type")
    if not isinstance(question, str) or not question.strip():
        raise RecordError(f"{where} has no question text")
    if pair.get("answer") is None:
        raise RecordError(f"{where} has no answer")
    capability = _CAPABILITY_OF.get(re.sub(r"[\s_-]+", "_", str(kind).strip().lower()))
    if capability is None:
        raise RecordError(
            f"{where} has the unknown type {kind!r}; known are A, B, C, D, recall, causal, update, abstraction"
        )
    answer = as_text(pair["answer"], warnings, "non_string_answers")
    warnings["empty_answers"] += not answer
    extra = unread(pair, _QUESTION_FIELDS)
    if extra.get("sub_type") == "":
        del extra["sub_type"]
    return Question(index=index, question=question, answer=answer, capability=capability, extra=extra)
