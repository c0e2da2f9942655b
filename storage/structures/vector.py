"""V: one embedding per step, the five nearest to the question by inner product (MESA, Appendix A.1, Vector).

A build writes a Parquet table; `commit`, called by one task at a time, copies finished builds into LanceDB, where the access
searches exactly (no approximate index) among the rows of one episode.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem

from storage.artifacts import ArtifactError, digest
from storage.structures.base import BuildInputs, BuiltShard, Evidence, Query
from storage.structures.render import render_step, step_rows
from storage.structures.vector_ledger import VectorLedger
from storage.tables import TABLE, by_episode, write_table

if TYPE_CHECKING:
    from lancedb.db import DBConnection
    from lancedb.table import Table

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class VectorStructure:
    """Reads the derived table `embeddings` (`schemas.embeddings`), made from `texts` by the encoder named `encoder`."""

    encoder: str = "minilm"
    top_k: int = 5
    max_chars: int = 8_000

    @property
    def letter(self) -> str:
        return "V"

    @property
    def name(self) -> str:
        return "vector"

    @property
    def version(self) -> int:
        return 1

    @property
    def derives(self) -> tuple[str, ...]:
        return ("embeddings",)

    def texts(self, steps: pa.Table) -> list[str]:
        """What the encoder reads and the evidence shows, one text per row of `steps`; never an empty one."""
        return [render_step(row, self.max_chars) for row in step_rows(steps)]

    def build(self, inputs: BuildInputs, out: Path) -> int:
        """Join texts and vectors by episode and step. `ValueError` names a step without a vector."""
        vectors = inputs.derived["embeddings"]
        parts = []
        found = dict(by_episode(vectors))
        for episode_id, steps in by_episode(inputs.steps):
            rows = found.get(episode_id, vectors.slice(0, 0))
            labels = steps.column("step").combine_chunks()
            order = pc.index_in(labels, rows.column("step").combine_chunks())
            if order.null_count:
                step = labels.filter(order.is_null())[0]
                raise ValueError(
                    f"the embeddings hold no vector for step {step} of episode {episode_id!r}: derive them again"
                )
            columns = {
                "episode_id": steps.column("episode_id"),
                "step": labels,
                "text": pa.array(self.texts(steps), pa.string()),
                "vector": rows.column("vector").take(order),
            }
            parts.append(pa.table(columns, schema=_schema(vectors)))
        return write_table(out / TABLE, pa.concat_tables(parts or [_schema(vectors).empty_table()]))

    def commit(self, shards: Sequence[BuiltShard]) -> int:
        """Copy finished builds of one home into LanceDB; return the number of rows added.

        A shard whose rows are there already is skipped; one shard is one Lance commit, so a shard is never there by half.
        Only one task may commit at a time. `ValueError` when the encoder's dimension has changed under its name.
        """
        if not shards:
            return 0
        database = _connect(shards[0].vectors)
        table = _find_table(database, _table_name(self.encoder))
        present = set() if table is None else set(table.search().select(["shard"]).to_arrow().column("shard").to_pylist())
        added = 0
        for shard in shards:
            if _shard_name(shard) in present:
                continue
            rows = _committed_rows(shard)
            if table is None:
                table = database.create_table(_table_name(self.encoder), schema=rows.schema)
            self._check_kind(table.schema, rows.schema, shard)
            table.add(rows)
            present.add(_shard_name(shard))
            added += rows.num_rows
        if table is not None:
            _index(table, compact=added > 0)
            VectorLedger(shards[0].fs, shards[0].vectors, _table_name(self.encoder)).write(present)
        return added

    def recommit(self, uri: str, shards: Sequence[BuiltShard]) -> int:
        """Make the table of the LanceDB at `uri` anew from finished builds; return its rows. Only one task may at a time.

        Rows that are deleted stay in LanceDB's files, whose compaction skips files with few of them: only a new table is
        sure to hold nothing else. Killed half way, it lacks builds, which the next commit adds.
        """
        database = _connect(uri)
        if _find_table(database, _table_name(self.encoder)) is not None:
            database.drop_table(_table_name(self.encoder))
        _open_table.cache_clear()
        return self.commit(shards)

    def rows_by_build(self, uri: str) -> dict[str, int]:
        """How many rows of each build the table of the LanceDB at `uri` holds; every column is read. Empty without one."""
        table = _find_table(_connect(uri), _table_name(self.encoder))
        return {} if table is None else dict(Counter(table.to_arrow().column("shard").to_pylist()))

    def committed(self, fs: AbstractFileSystem, uri: str) -> frozenset[str]:
        """The builds that the table is known to hold, without opening it."""
        return VectorLedger(fs, uri, _table_name(self.encoder)).read()

    def is_committed(self, shards: Sequence[BuiltShard]) -> bool:
        """Whether LanceDB is known to hold finished builds of one home. It is not opened; False may only mean unknown."""
        names = {_shard_name(shard) for shard in shards}
        return not shards or names <= self.committed(shards[0].fs, shards[0].vectors)

    def _check_kind(self, committed: pa.Schema, built: pa.Schema, shard: BuiltShard) -> None:
        before, now = committed.field("vector").type, built.field("vector").type
        if before != now:
            raise ValueError(
                f"encoder {self.encoder!r} made {before} before, {now} in {shard.folder}: give the new encoder another name"
            )

    def open(self, shard: BuiltShard, episode_id: str) -> VectorIndex:
        """Point at one episode's rows. `KeyError` when the shard does not hold it, `ArtifactError` before the commit."""
        table = _open_table(shard.vectors, _table_name(self.encoder))
        in_shard = f"shard = '{_quoted(_shard_name(shard))}'"
        here = f"episode_id = '{_quoted(episode_id)}' AND {in_shard}"
        found = table.count_rows(here)
        if not found:  # another process may have committed since this one opened the table
            table.checkout_latest()  # type: ignore[no-untyped-call]
            found = table.count_rows(here)
        if found:
            return VectorIndex(table, here, self.top_k)
        if table.count_rows(in_shard):
            raise KeyError(f"episode {episode_id!r} is not in {shard.folder}")
        raise ArtifactError(f"the vectors of {shard.folder} are not in {shard.vectors}: run `strata build`")


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """One episode's vectors: rows of `table` that match `where`."""

    table: Table
    where: str
    top_k: int

    def access(self, query: Query) -> Evidence:
        """The nearest steps, best first, ties by step. `ValueError` when the query has no vector of the right size."""
        if not query.text.strip():
            return Evidence((), localised=False)
        vector = self._checked(query.vector)
        rows = self._nearest(vector)
        return Evidence(
            tuple(row["text"] for row in rows),
            tuple(row["step"] for row in rows),
            tuple(1.0 - row["_distance"] for row in rows),
        )

    def _checked(self, vector: np.ndarray | None) -> np.ndarray:
        dimension = self.table.schema.field("vector").type.list_size
        if vector is None:
            raise ValueError("structure V needs Query.vector: embed the question with the encoder of its steps")
        if vector.shape != (dimension,):
            raise ValueError(f"Query.vector has shape {vector.shape}, the steps have {dimension} numbers: another encoder?")
        return vector

    def _nearest(self, vector: np.ndarray) -> list[dict[str, Any]]:
        """The best `top_k` rows. One row more is asked for, and more again while the last place is tied."""
        limit = self.top_k + 1
        while True:
            search: Any = self.table.search(vector, vector_column_name="vector")
            search = search.metric("dot").where(self.where, prefilter=True)
            rows: list[dict[str, Any]] = search.select(["step", "text", "_distance"]).limit(limit).to_list()
            rows.sort(key=lambda row: (row["_distance"], row["step"]))
            if len(rows) < limit or rows[self.top_k - 1]["_distance"] != rows[-1]["_distance"]:
                return rows[: self.top_k]
            limit *= 4


def _schema(vectors: pa.Table) -> pa.Schema:
    """The build's columns, with vectors as the embeddings table has them."""
    return pa.schema(
        [("episode_id", pa.string()), ("step", pa.int64()), ("text", pa.string()), vectors.schema.field("vector")]
    )


def _shard_name(shard: BuiltShard) -> str:
    """The end of an artifact's path that tells its settings and its inputs apart from others: `v1-<digest>/<digest>`."""
    return "/".join(shard.folder.rstrip("/").split("/")[-2:])


def _table_name(encoder: str) -> str:
    """The encoder's name as LanceDB takes it; a name that has to be changed gets a digest, so that none are mixed up."""
    if _PLAIN_NAME.fullmatch(encoder):
        return encoder
    return f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', encoder)}-{digest(encoder)}"


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _committed_rows(shard: BuiltShard) -> pa.Table:
    """A build's rows with the shard's name in front."""
    with shard.fs.open(f"{shard.folder}/{TABLE}", "rb") as file:
        rows = pq.read_table(file)
    dimension = rows.schema.field("vector").type.list_size
    columns = {
        "shard": pa.array([_shard_name(shard)] * rows.num_rows, pa.string()),
        **{name: rows.column(name) for name in ("episode_id", "step", "text")},
        "vector": rows.column("vector").cast(pa.list_(pa.float32(), dimension)),
    }
    return pa.table(columns)


def _index(table: Table, compact: bool) -> None:
    """Make the index on episode_id where it is missing; extend it and compact the table after new rows."""
    from lancedb.index import BTree

    if not any(index.columns == ["episode_id"] for index in table.list_indices()):
        table.create_index("episode_id", config=BTree())
    if compact:
        table.optimize()


def _connect(uri: str) -> DBConnection:
    import lancedb

    return lancedb.connect(uri)


def _find_table(database: DBConnection, name: str) -> Table | None:
    try:
        return database.open_table(name)
    except ValueError:  # how LanceDB says that there is no such table
        return None


@lru_cache(maxsize=8)
def _open_table(uri: str, name: str) -> Table:
    """An open table, kept per process: opening costs more than asking. `ArtifactError` when nothing was committed."""
    table = _find_table(_connect(uri), name)
    if table is None:
        raise ArtifactError(f"there are no vectors of {name!r} in {uri}: run `strata build`")
    return table
