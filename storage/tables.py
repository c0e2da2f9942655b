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
from storage.records import Episode, question_id

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
    step_tokens = [counts[2 * i] + counts[2 * i + 1] for i in range(len(steps))]
    totals = dict.fromkeys((episode.episode_id for episode in episodes), 0)
    for (episode, _, _), n in zip(steps, step_tokens, strict=True):
        totals[episode.episode_id] += n
    return {
        "episodes": pa.Table.from_pylist(
            [
                {
                    "dataset": e.dataset,
                    "episode_id": e.episode_id,
                    "task": e.task,
                    "task_type": e.task_type,
                    "domain": e.domain,
                    "n_steps": len(e.steps),
                    "n_tokens": totals[e.episode_id],
                    "content_hash": hashes[e.episode_id],
                    "shard": shard,
                    "extra": _json(e.extra),
                }
                for e in episodes
            ],
            schema=schemas.EPISODES,
        ),
        "steps": pa.Table.from_pylist(
            [
                {
                    "dataset": e.dataset,
                    "episode_id": e.episode_id,
                    "step": s.step,
                    "position": position,
                    "action": s.action,
                    "observation": s.observation,
                    "speaker": s.speaker,
                    "session": s.session,
                    "timestamp": s.timestamp,
                    "ref": s.ref,
                    "n_tokens": n,
                    "extra": _json(s.extra),
                }
                for (e, position, s), n in zip(steps, step_tokens, strict=True)
            ],
            schema=schemas.STEPS,
        ),
        "questions": pa.Table.from_pylist(
            [
                {
                    "question_id": question_id(e.dataset, e.episode_id, q.index),
                    "dataset": e.dataset,
                    "episode_id": e.episode_id,
                    "question": q.question,
                    "answer": q.answer,
                    "capability": q.capability,
                    "evidence_refs": list(q.evidence_refs),
                    "evidence_steps": list(q.evidence_steps),
                    "unresolved_refs": list(q.unresolved_refs),
                    "extra": _json(q.extra),
                }
                for e in episodes
                for q in e.questions
            ],
            schema=schemas.QUESTIONS,
        ),
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
