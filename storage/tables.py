"""Between records and Arrow tables, and one Parquet layout for all: rows sorted by episode, one row group per episode."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem

from storage import schemas
from storage.records import Episode, Question, Step, question_id

CountTokens = Callable[[Sequence[str]], list[int]]
TABLE = "table.parquet"
"""The file name of an artifact that is one table."""


def episode_tables(
    episodes: Sequence[Episode], hashes: Mapping[str, str], shard: str, count_tokens: CountTokens
) -> dict[str, pa.Table]:
    """The tables `episodes`, `steps` and `questions` of one shard; `hashes` are the content hashes by episode id.

    A step's `n_tokens` counts its action and its observation, each by itself; an episode's is the sum over its steps.
    """
    steps = [(episode, position, step) for episode in episodes for position, step in enumerate(episode.steps)]
    counts = count_tokens([text for _, _, step in steps for text in (step.action, step.observation)])
    tokens = [counts[2 * i] + counts[2 * i + 1] for i in range(len(steps))]
    totals = dict.fromkeys((episode.episode_id for episode in episodes), 0)
    for (episode, _, _), n in zip(steps, tokens, strict=True):
        totals[episode.episode_id] += n
    rows = {
        "episodes": [_episode_row(e, hashes[e.episode_id], shard, totals[e.episode_id]) for e in episodes],
        "steps": [_step_row(e, position, s, n) for (e, position, s), n in zip(steps, tokens, strict=True)],
        "questions": [_question_row(e, question) for e in episodes for question in e.questions],
    }
    return {name: pa.Table.from_pylist(rows[name], schema=schema) for name, schema in _SCHEMAS.items()}


_SCHEMAS = {"episodes": schemas.EPISODES, "steps": schemas.STEPS, "questions": schemas.QUESTIONS}


def _episode_row(episode: Episode, content_hash: str, shard: str, n_tokens: int) -> dict[str, Any]:
    return {
        "dataset": episode.dataset,
        "episode_id": episode.episode_id,
        "task": episode.task,
        "task_type": episode.task_type,
        "domain": episode.domain,
        "n_steps": len(episode.steps),
        "n_tokens": n_tokens,
        "content_hash": content_hash,
        "shard": shard,
        "extra": _json(episode.extra),
    }


def _step_row(episode: Episode, position: int, step: Step, n_tokens: int) -> dict[str, Any]:
    return {
        "dataset": episode.dataset,
        "episode_id": episode.episode_id,
        "step": step.step,
        "position": position,
        "action": step.action,
        "observation": step.observation,
        "speaker": step.speaker,
        "session": step.session,
        "timestamp": step.timestamp,
        "ref": step.ref,
        "n_tokens": n_tokens,
        "extra": _json(step.extra),
    }


def _question_row(episode: Episode, question: Question) -> dict[str, Any]:
    return {
        "question_id": question_id(episode.dataset, episode.episode_id, question.index),
        "dataset": episode.dataset,
        "episode_id": episode.episode_id,
        "question": question.question,
        "answer": question.answer,
        "capability": question.capability,
        "evidence_refs": list(question.evidence_refs),
        "evidence_steps": list(question.evidence_steps),
        "unresolved_refs": list(question.unresolved_refs),
        "extra": _json(question.extra),
    }


def _json(extra: Mapping[str, Any]) -> str | None:
    return json.dumps(extra, sort_keys=True, ensure_ascii=False) if extra else None


def by_episode(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Each episode's rows, in the order of the table, which must hold an episode's rows together."""
    ids = table.column("episode_id").to_pylist()
    start = 0
    for i in range(1, len(ids) + 1):
        if i == len(ids) or ids[i] != ids[start]:
            yield ids[start], table.slice(start, i - start)
            start = i


def write_table(path: Path, table: pa.Table) -> int:
    """Write a table with one row group per episode, so that one episode is read alone; return the number of rows."""
    with pq.ParquetWriter(path, table.schema, compression="zstd", write_statistics=["episode_id"]) as writer:
        for _, rows in by_episode(table):
            writer.write_table(rows, row_group_size=max(rows.num_rows, 1))
    return int(table.num_rows)


def read_episode(fs: AbstractFileSystem, path: str, episode_id: str) -> pa.Table:
    """The rows of one episode from a file that `write_table` wrote. `KeyError` when the file has none."""
    with fs.open(path, "rb") as source, pq.ParquetFile(source) as file:
        column = file.schema_arrow.get_field_index("episode_id")
        groups = [
            i
            for i in range(file.num_row_groups)
            if (stats := file.metadata.row_group(i).column(column).statistics) is None or stats.min == episode_id
        ]
        if not groups:
            raise KeyError(f"episode {episode_id!r} is not in {path}")
        rows = file.read_row_groups(groups)
    return rows.filter(pc.equal(rows.column("episode_id"), episode_id))
