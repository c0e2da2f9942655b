"""Read answers that were made elsewhere, to score them again.

Layouts, told apart by their keys:

- one row per question, JSON Lines or Parquet (`.parquet`):
  {"question_id": "locomo/conv-26/0", "answer": "7 May 2023"}
- the AMA-Bench leaderboard file, JSON Lines, one row per episode, answers in the order of the episode's questions:
  {"episode_id": 0, "answer_list": ["...", "..."], "reasoning_trace": "..."}
- the LoCoMo audit's answer files, one JSON object:
  {"detailed_results": {"locomo_exp_user_0": [{"question_id": "locomo_0_qa12", "question": "...",
  "generated_answer": "..."}]}}
  `locomo_<c>_qa<i>` counts conversations and questions from 0 in the official file. The conversation is recognised by its
  question texts, so it does not matter which conversations were ingested before it or in what order.

Answers must fit the questions: an id that is unknown or given twice is an error, a question without answer is reported.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_AUDIT_ID = re.compile(r"locomo_(\d+)_qa(\d+)")
_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
_SHOWN = 5

Question = Mapping[str, Any]
"""question_id, dataset, episode_id, question, answer, capability of one question."""


class AnswersError(ValueError):
    """A file of answers that cannot be used. The message names the file, the place in it and what is wrong."""


@dataclass(frozen=True, slots=True)
class SavedAnswers:
    """`answers` by question id; `missing` are the ids, in the order of the questions, that got no answer or a null one."""

    answers: dict[str, str]
    missing: tuple[str, ...]


def read_answers(path: str | Path, questions: Sequence[Question]) -> SavedAnswers:
    """The answers in `path` by question id. `AnswersError` for a file that is unreadable or does not fit `questions`."""
    path = Path(path)
    if not path.is_file():
        raise AnswersError(f"{path}: no such file of answers")
    known = {str(q["question_id"]) for q in questions}
    answers: dict[str, str | None] = {}
    unknown, repeated = [], []
    for question_id, answer in _pairs(path, questions):
        if question_id not in known:
            unknown.append(question_id)
        elif question_id in answers:
            repeated.append(question_id)
        else:
            answers[question_id] = answer
    _refuse(path, unknown, "not among the ingested questions", "ingest their data set first, or check the ids")
    _refuse(path, repeated, "answered twice", "keep one answer per question")
    given = {question_id: answer for question_id, answer in answers.items() if answer is not None}
    return SavedAnswers(given, tuple(str(q["question_id"]) for q in questions if str(q["question_id"]) not in given))


def _refuse(path: Path, ids: Sequence[str], what: str, remedy: str) -> None:
    if not ids:
        return
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    raise AnswersError(f"{path}: {what}: {', '.join(ids[:_SHOWN])}{more}; {remedy}")


def _pairs(path: Path, questions: Sequence[Question]) -> Iterator[tuple[str, str | None]]:
    if path.suffix == ".parquet":
        yield from _row_pairs(path, _parquet_rows(path))
        return
    data = path.read_bytes()
    whole = _one_object(data)
    if whole is not None and "detailed_results" in whole:
        yield from _audit_pairs(path, whole["detailed_results"], questions)
        return
    rows = list(_json_lines(path, data))
    if rows and "answer_list" in rows[0][1]:
        yield from _leaderboard_pairs(path, rows, questions)
    else:
        yield from _row_pairs(path, rows)


def _one_object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except ValueError:
        return None  # several lines, or damaged: the line reader says where
    return value if isinstance(value, dict) else None


def _json_lines(path: Path, data: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with the place it stands at. A damaged line is an error: leaving answers out would change the score."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            row = json.loads(line.decode("utf-8"))
        except ValueError as error:
            raise AnswersError(f"{path}: {place} is not a JSON object: {error}") from error
        if not isinstance(row, dict):
            raise AnswersError(f"{path}: {place} is not a JSON object but a {type(row).__name__}")
        yield place, row


def _parquet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            absent = [c for c in ("question_id", "answer") if c not in file.schema_arrow.names]
            if absent:
                raise AnswersError(f"{path}: no column {absent[0]!r}; a table of answers has question_id and answer")
            rows = file.read(columns=["question_id", "answer"]).to_pylist()
    except pa.ArrowInvalid as error:
        raise AnswersError(f"{path}: not a Parquet file: {error}") from error
    for number, row in enumerate(rows, start=1):
        yield f"row {number}", row


def _row_pairs(path: Path, rows: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, str | None]]:
    for place, row in rows:
        if "question_id" not in row or "answer" not in row:
            raise AnswersError(f"{path}: {place} needs question_id and answer, or episode_id and answer_list")
        yield str(row["question_id"]), _text(path, place, row["answer"])


def _leaderboard_pairs(
    path: Path, rows: Iterable[tuple[str, dict[str, Any]]], questions: Sequence[Question]
) -> Iterator[tuple[str, str | None]]:
    episodes = _ids_by_episode(questions)
    for place, row in rows:
        answers = row.get("answer_list")
        if "episode_id" not in row or not isinstance(answers, list):
            raise AnswersError(f"{path}: {place} needs episode_id and answer_list (a list of strings)")
        episode = str(row["episode_id"])
        if len(episodes[episode]) != 1:
            found = " and ".join(sorted(dataset for dataset, _ in episodes[episode])) or "no ingested data set"
            raise AnswersError(f"{path}: {place}: episode {episode} is in {found}; it must be in exactly one")
        ((_, ids),) = episodes[episode]
        if len(answers) != len(ids):
            raise AnswersError(f"{path}: {place}: episode {episode} has {len(ids)} questions but {len(answers)} answers")
        for question_id, answer in zip(ids, answers, strict=True):
            yield question_id, _text(path, f"{place}, episode {episode}", answer)


def _ids_by_episode(questions: Sequence[Question]) -> dict[str, list[tuple[str, list[str]]]]:
    """For each episode id, every data set that has it with the question ids in the order of the episode."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for question in questions:
        found[str(question["episode_id"]), str(question["dataset"])].append(str(question["question_id"]))
    episodes: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    for (episode, dataset), ids in found.items():
        episodes[episode].append((dataset, sorted(ids, key=_index)))
    return episodes


def _index(question_id: str) -> int:
    return int(question_id.rsplit("/", 1)[1])


def _audit_pairs(
    path: Path, results: Mapping[str, Sequence[Mapping[str, Any]]], questions: Sequence[Question]
) -> Iterator[tuple[str, str | None]]:
    texts: dict[str, dict[int, str]] = defaultdict(dict)
    for question in questions:
        question_id = str(question["question_id"])
        texts[question_id.rsplit("/", 1)[0]][_index(question_id)] = str(question["question"])
    for conversation, items in _by_conversation(path, results).items():
        episode = _recognise(path, conversation, {i: str(item.get("question")) for i, item in items.items()}, texts)
        for index, item in items.items():
            place = f"locomo_{conversation}_qa{index}"
            yield f"{episode}/{index}", _text(path, place, item.get("generated_answer"))


def _by_conversation(path: Path, results: Mapping[str, Any]) -> dict[int, dict[int, Mapping[str, Any]]]:
    conversations: dict[int, dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for item in (item for items in results.values() for item in items):
        match = _AUDIT_ID.fullmatch(str(item.get("question_id")))
        if match is None:
            raise AnswersError(f"{path}: question_id {item.get('question_id')!r} is not like locomo_0_qa12")
        conversation, index = int(match[1]), int(match[2])
        if index in conversations[conversation]:
            raise AnswersError(f"{path}: {match[0]} is answered twice; keep one answer per question")
        conversations[conversation][index] = item
    return conversations


def _recognise(path: Path, conversation: int, asked: Mapping[int, str], texts: Mapping[str, Mapping[int, str]]) -> str:
    """The one episode that has every question in `asked` at the same index, white space aside."""
    fits = [
        episode
        for episode, known in texts.items()
        if all(known.get(index, "").split() == text.split() for index, text in asked.items())
    ]
    if len(fits) != 1:
        raise AnswersError(
            f"{path}: the questions of conversation {conversation} fit {len(fits)} ingested episodes, not one; "
            "ingest the official LoCoMo file (in corrected copies the question numbers are shifted)"
        )
    return fits[0]


def _text(path: Path, place: str, answer: object) -> str | None:
    """An answer as storable text: numbers as their digits, NUL bytes and lone surrogates as the replacement character."""
    if answer is None:
        return None
    if isinstance(answer, str | int | float):
        return _NOT_TEXT.sub("\ufffd", str(answer))
    raise AnswersError(f"{path}: {place}: an answer must be text, not a {type(answer).__name__}")
