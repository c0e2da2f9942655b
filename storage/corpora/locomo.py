"""LoCoMo: ten long conversations of two people over many dated sessions, with 1,986 questions (Maharana et al., 2024).

    {"sample_id": "conv-26", "qa": [{"question": ..., "answer": ..., "evidence": ["D1:3"], "category": 2}, ...],
     "conversation": {"speaker_a": "Caroline", "speaker_b": "Melanie", "session_1_date_time": "1:56 pm on 8 May, 2023",
                      "session_1": [{"speaker": "Caroline", "dia_id": "D1:1", "text": "Hey Mel! ..."}, ...]}}

What keeps gold answers out of the memory: a turn's `query` (the words an image was searched with) holds answers that no
participant ever says, so it is dropped, and so are `event_summary`, `observation` and `session_summary`, the targets of
LoCoMo's other tasks. An adversarial question's `adversarial_answer` is the tempting wrong answer: its gold is abstention.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import fsspec

from storage.corpora.base import CorpusError, ReadReport
from storage.corpora.download import fetch
from storage.corpora.jsonl import RecordError, as_objects, as_text, read_episodes, unread
from storage.records import ABSTENTION, Episode, Question, Step, question_id

URL = "https://raw.githubusercontent.com/snap-research/locomo/main/data/locomo10.json"
SHA256 = "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"

CATEGORIES: Mapping[int, str] = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
"""The data's category numbers, confirmed by counts and evidence; the paper's text lists them in another order."""

CITATION_ONLY = "WRONG_CITATION"
"""The audit's error type for a right answer with wrong evidence."""

_MONTHS = "january february march april may june july august september october november december".split()
_DATE = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*", re.IGNORECASE)
_SESSION = re.compile(r"session_([0-9]+)")
_SESSION_DATE = re.compile(r"session_([0-9]+)_date_time")
_REF = re.compile(r"D:?([0-9]{1,6}):([0-9]{1,6})", re.IGNORECASE)
_AUDIT_ID = re.compile(r"locomo_([0-9]+)_qa([0-9]+)")

_EPISODE_FIELDS = {"sample_id", "qa", "conversation", "event_summary", "observation", "session_summary"}
_TURN_FIELDS = {"speaker", "dia_id", "text", "blip_caption", "query"}
_QUESTION_FIELDS = {"question", "answer", "evidence", "category"}


class Evidence(NamedTuple):
    """The gold evidence of one question: `refs` that name a turn (each once, in order), and those that name none."""

    refs: tuple[str, ...]
    unresolved: tuple[str, ...]


@dataclass(frozen=True)
class Locomo:
    """Reader of LoCoMo's `locomo10.json`. One step is one turn; its label runs from 0 over the whole conversation.

    `cache` is the folder for the pinned download; empty means a folder in the system's place for temporary files.
    Warnings: `unresolved_evidence_refs`, `repaired_evidence_refs` (evidence entries that were not one plain id),
    `questions_without_evidence` (no entry at all), `non_string_answers`, `non_string_texts`, `adversarial_without_answer`,
    `session_dates_without_turns`, `unreadable_session_dates` (kept without a timestamp).
    """

    cache: str = ""

    @property
    def name(self) -> str:
        """The data set's name."""
        return "locomo"

    def read(self, source: str | None, report: ReadReport) -> Iterator[Episode]:
        """Yield the conversations of a file (JSON or JSON Lines), of a folder's `locomo*.json*`, or of the download (None).

        A conversation is left out as a bad record when it has no id, no turns, two turns with one id, or a question
        without text, without answer or of an unknown category. Raises `CorpusError` when nothing can be read.
        """
        path = self._download() if source is None else source
        return read_episodes(path, report, self._episode, ("locomo*.json", "locomo*.jsonl"))

    def _download(self) -> str:
        folder = Path(self.cache) if self.cache else Path(tempfile.gettempdir()) / "strata-downloads"
        return str(fetch(URL, SHA256, folder))

    def _episode(self, value: dict[str, Any], warnings: Counter[str]) -> Episode:
        episode_id = value.get("sample_id")
        if not isinstance(episode_id, str) or not episode_id:
            raise RecordError(f"sample_id is {episode_id!r}; it must be a text such as 'conv-26'")
        conversation = value.get("conversation")
        if not isinstance(conversation, dict):
            raise RecordError(f"conversation {episode_id}: the field `conversation` is missing or no object")
        steps = _steps(episode_id, conversation, warnings)
        return Episode(
            dataset=self.name,
            episode_id=episode_id,
            task=f"A long-term conversation between {' and '.join(_speakers(conversation, steps))}.",
            task_type="conversation",
            domain="conversation",
            steps=steps,
            questions=_questions(episode_id, value.get("qa"), steps, warnings),
            extra=unread(value, _EPISODE_FIELDS),
        )


def read_audit(path: str, episode_ids: Sequence[str]) -> dict[str, str]:
    """The error type of each question whose gold answer a public audit (dial481/locomo-audit) found wrong.

    Keys are question ids (`records.question_id`). `episode_ids` are the conversations in the order of the official file:
    the audit counts them from 0. Records about wrong citations alone are left out. The ids fit the official file only.
    Raises `CorpusError` for a file that cannot be read and for a malformed record, which it names.
    """
    try:
        with fsspec.open(path, "rb") as file:
            records = json.load(file)
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path}: the audit cannot be read ({error})") from error
    if not isinstance(records, list):
        raise CorpusError(f"{path}: the audit must be a JSON list of records")
    errors = [_audit_record(f"{path}: record {i}", record, episode_ids) for i, record in enumerate(records)]
    return {question: kind for question, kind in errors if kind != CITATION_ONLY}


def _audit_record(where: str, record: Any, episode_ids: Sequence[str]) -> tuple[str, str]:
    name, kind = (record.get("question_id"), record.get("error_type")) if isinstance(record, dict) else (None, None)
    match = _AUDIT_ID.fullmatch(name) if isinstance(name, str) else None
    if match is None or not isinstance(kind, str) or not kind:
        raise CorpusError(f"{where}: needs `error_type` and a `question_id` like locomo_0_qa1, has {kind!r} and {name!r}")
    conversation, index = int(match[1]), int(match[2])
    if conversation >= len(episode_ids):
        raise CorpusError(f"{where}: {name} names conversation {conversation}, but there are only {len(episode_ids)}")
    return question_id("locomo", episode_ids[conversation], index), kind


def session_time(text: object) -> datetime | None:
    """The UTC time of a session date such as "12:09 am on 13 September, 2023", or None when it cannot be read.

    The data names no time zone. Parsed without `strptime`, whose month and am/pm names depend on the machine's locale.
    """
    match = _DATE.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[5].lower() not in _MONTHS:
        return None
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)  # 12:xx am is hour 0, 12:xx pm is hour 12
    try:
        return datetime(int(match[6]), _MONTHS.index(match[5].lower()) + 1, int(match[4]), hour, int(match[2]), tzinfo=UTC)
    except ValueError:
        return None


def resolve_evidence(entries: Sequence[str], known: Mapping[str, int]) -> Evidence:
    """Split evidence entries into ids of turns in `known` and the rest.

    An entry may hold several ids parted by `;`, `,` or spaces; leading zeros are dropped (`D30:05` is D30:5) and so is a
    stray colon (`D:11:26` is D11:26, a turn that its conversation has and that answers the question). On the official
    file three ids stay unresolved: D10:19, D4:36 and a bare `D`.
    """
    ids = [_canonical(word) for entry in entries for word in re.split(r"[;,\s]+", entry) if word]
    return Evidence(tuple(dict.fromkeys(i for i in ids if i in known)), tuple(i for i in ids if i not in known))


def _canonical(ref: str) -> str:
    match = _REF.fullmatch(ref)
    return f"D{int(match[1])}:{int(match[2])}" if match else ref


def _steps(episode_id: str, conversation: dict[str, Any], warnings: Counter[str]) -> tuple[Step, ...]:
    sessions = {int(match[1]): turns for key, turns in conversation.items() if (match := _SESSION.fullmatch(key)) and turns}
    dated = {int(match[1]) for key in conversation if (match := _SESSION_DATE.fullmatch(key))}
    warnings["session_dates_without_turns"] += len(dated - sessions.keys())
    steps: list[Step] = []
    for session, turns in sorted(sessions.items()):
        time = session_time(conversation.get(f"session_{session}_date_time"))
        warnings["unreadable_session_dates"] += time is None
        for ref, turn in _ordered(session, as_objects(turns, f"conversation {episode_id}: session_{session}")):
            steps.append(_step(len(steps), session, time, ref, turn, warnings))
    if not steps:
        raise RecordError(f"conversation {episode_id}: has no session with turns")
    twice, n = Counter(step.ref for step in steps).most_common(1)[0]
    if n > 1:
        raise RecordError(f"conversation {episode_id}: {n} turns have the dia_id {twice}; it must be unique")
    return tuple(steps)


def _ordered(session: int, turns: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The turns of a session with their ids, by the turn number in the id (by position where there is none)."""
    numbered = []
    for position, turn in enumerate(turns, start=1):
        match = _REF.fullmatch(str(turn.get("dia_id")))
        number = int(match[2]) if match else position
        numbered.append((number, position, f"D{session}:{number}", turn))
    return [(ref, turn) for _, _, ref, turn in sorted(numbered, key=lambda item: item[:2])]


def _step(label: int, session: int, time: datetime | None, ref: str, turn: dict[str, Any], warnings: Counter[str]) -> Step:
    text = as_text(turn.get("text"), warnings, "non_string_texts")
    caption = turn.get("blip_caption")  # not `img_url`: 316 turns have a caption and no address
    return Step(
        step=label,
        action="dialogue",
        observation=f"{text}{' ' if text else ''}[image: {caption}]" if caption else text,
        speaker=None if turn.get("speaker") is None else str(turn["speaker"]),
        session=session,
        timestamp=time,
        ref=ref,
        extra=unread(turn, _TURN_FIELDS),
    )


def _speakers(conversation: dict[str, Any], steps: Sequence[Step]) -> list[str]:
    named = [conversation.get("speaker_a"), conversation.get("speaker_b")]
    heard = dict.fromkeys(step.speaker for step in steps if step.speaker)
    return [str(name) for name in named if name] or list(heard) or ["unnamed people"]


def _questions(episode_id: str, pairs: object, steps: Sequence[Step], warnings: Counter[str]) -> tuple[Question, ...]:
    known = {step.ref: step.step for step in steps if step.ref is not None}
    found = as_objects(pairs, f"conversation {episode_id}: qa")
    return tuple(_question(f"conversation {episode_id}: qa[{i}]", i, pair, known, warnings) for i, pair in enumerate(found))


def _question(where: str, index: int, pair: dict[str, Any], known: Mapping[str, int], warnings: Counter[str]) -> Question:
    text, category = pair.get("question"), pair.get("category")
    if not isinstance(text, str) or not text.strip():
        raise RecordError(f"{where} has no question text")
    if not isinstance(category, int) or category not in CATEGORIES:
        raise RecordError(f"{where} has the unknown category {category!r}; known are 1 to 5")
    evidence = _evidence(pair.get("evidence"), known, warnings)
    extra = unread(pair, _QUESTION_FIELDS)
    return Question(
        index=index,
        question=text,
        answer=_answer(where, pair, extra, warnings),
        capability=CATEGORIES[category],
        evidence_refs=evidence.refs,
        evidence_steps=tuple(known[ref] for ref in evidence.refs),
        unresolved_refs=evidence.unresolved,
        extra=extra,
    )


def _answer(where: str, pair: dict[str, Any], extra: dict[str, Any], warnings: Counter[str]) -> str:
    answer = pair.get("answer")
    if CATEGORIES[pair["category"]] == "adversarial":
        # Two adversarial items of the official file have an answer, "No": it goes where `adversarial_answer` is kept.
        extra |= {} if answer is None else {"answer": answer}
        warnings["adversarial_without_answer"] += answer is None
        return ABSTENTION
    if answer is None:
        raise RecordError(f"{where} has no answer")
    return as_text(answer, warnings, "non_string_answers")


def _evidence(value: object, known: Mapping[str, int], warnings: Counter[str]) -> Evidence:
    entries = [str(entry) for entry in value] if isinstance(value, list) else [str(value)] if value else []
    evidence = resolve_evidence(entries, known)
    warnings["questions_without_evidence"] += not entries
    warnings["unresolved_evidence_refs"] += len(evidence.unresolved)
    warnings["repaired_evidence_refs"] += sum(e not in known and bool(resolve_evidence([e], known).refs) for e in entries)
    return evidence
