"""The evidence table: what each structure returns for each question, one cached task per structure and shard."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from models.tokens import count_composed
from storage import schemas
from storage.artifacts import Draft, Home
from storage.shards import Shard, read_shard
from storage.structures.base import Query, Structure
from storage.tables import TABLE, by_episode
from tasks.artifact_task import artifact_task
from tasks.plan import built
from tasks.routers import load_routers
from tasks.sections import evidence_row


@artifact_task
def access_evidence(
    home: Home, draft: Draft, structure: Structure, key: str, shard: Shard, vectors: str | None, router: str = ""
) -> None:
    """Ask the structure built under `key` every question of the shard; `vectors` is the key of the questions' vectors.

    `router` is the artifact of the trained weights that walk H, "" for none.

    The structure sees the question's text and vector and nothing else of it: no gold answer, no gold evidence.
    """
    questions = read_shard(home, shard, "questions").select(["question_id", "episode_id", "question"])
    embedded = _question_vectors(home, vectors)
    rows: list[dict[str, Any]] = []
    routers = load_routers(home, router) if router else None
    for episode_id, group in by_episode(questions):
        walker = None if routers is None else routers.of(episode_id)
        index = structure.open(built(home, key), episode_id)
        for question_id, text in zip(*(group.column(c).to_pylist() for c in ("question_id", "question")), strict=True):
            started = time.perf_counter()
            evidence = index.access(Query(text, embedded.get(question_id), router=walker))
            milliseconds = (time.perf_counter() - started) * 1_000
            rows.append(evidence_row(question_id, structure.letter, evidence, milliseconds))
    counts = count_composed([row["text"] for row in rows], [row["block_starts"] for row in rows])
    for row, n_tokens in zip(rows, counts, strict=True):
        row["n_tokens"] = n_tokens
    pq.write_table(pa.Table.from_pylist(rows, schema=schemas.EVIDENCE), draft.folder / TABLE, compression="zstd")
    draft.manifest["rows"] = len(rows)


def _question_vectors(home: Home, key: str | None) -> dict[str, np.ndarray]:
    if key is None:
        return {}
    table = pq.read_table(f"{home.require(key)}/{TABLE}", filesystem=home.fs)
    matrix = table.column("vector").combine_chunks().flatten().to_numpy().reshape(table.num_rows, -1)
    return dict(zip(table.column("question_id").to_pylist(), matrix, strict=True))
