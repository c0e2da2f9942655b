"""Tables across shards: the Parquet files of a table, reading and exporting them, and a DuckDB file of views for people.

Parquet is the truth; `catalog.duckdb` only holds views over it and may be deleted at any time.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from storage.artifacts import Home
from storage.shards import Shard

FORMATS = (".parquet", ".jsonl", ".csv")


class ExportError(ValueError):
    """A table that cannot be written as asked. The message names the table or the file."""


@dataclass(frozen=True)
class Part:
    """One Parquet file of a table. `live` are the values of `key` whose rows count; None when all of them do."""

    path: str
    key: str
    live: frozenset[str] | None = None


def live_part(home: Home, path: str, shard: Shard, episodes: Iterable[str], key: str, dataset: str) -> Part:
    """A file of a shard whose rows of superseded episodes are left out; `key` is `episode_id` or `question_id`."""
    chosen = frozenset(episodes)
    if len(chosen) == len(shard.episodes):
        return Part(path, key)
    return Part(path, key, chosen if key == "episode_id" else frozenset(f"{dataset}/{episode}/" for episode in chosen))


def read_table(home: Home, parts: Sequence[Part]) -> pa.Table:
    """All live rows, in the order of the parts. `ExportError` when there are no parts."""
    if not parts:
        raise ExportError("there is nothing to read: the table has no files yet")
    return pa.concat_tables([_read(home, part) for part in parts])


def _read(home: Home, part: Part) -> pa.Table:
    rows = pq.read_table(part.path, filesystem=home.fs)
    if part.live is None:
        return rows
    values = rows.column(part.key)
    if part.key == "question_id":  # `dataset/episode/index`: the index goes, the episode's prefix stays
        values = pc.replace_substring_regex(values, r"[^/]*$", "")
    return rows.filter(pc.is_in(values, pa.array(sorted(part.live))))


def export_table(table: pa.Table, out: str) -> None:
    """Write a table as Parquet, JSONL or CSV, chosen by the ending of `out`, in one atomic step.

    Lists become JSON text in CSV, which has no lists.
    """
    path = Path(out)
    if path.suffix not in FORMATS:
        raise ExportError(f"{out}: cannot tell the format; use a name that ends with {', '.join(FORMATS)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.stem}-{uuid.uuid4().hex}{path.suffix}")
    try:
        _write(table, draft, path.suffix)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _write(table: pa.Table, path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        pq.write_table(table, path, compression="zstd")
    elif suffix == ".csv":
        pa_csv.write_csv(_without_lists(table), path)
    else:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for batch in table.to_batches(max_chunksize=1_000):
                file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in batch.to_pylist())


def _without_lists(table: pa.Table) -> pa.Table:
    columns = {
        name: pa.array([None if v is None else json.dumps(v, ensure_ascii=False) for v in table.column(name).to_pylist()])
        if pa.types.is_nested(table.schema.field(name).type)
        else table.column(name)
        for name in table.column_names
    }
    return pa.table(columns)


def write_catalog(home: Home, views: Mapping[str, Sequence[Part]]) -> Path | None:
    """Write `catalog.duckdb`, one view per table; None for a remote home, whose files DuckDB cannot open by path."""
    import duckdb

    if not home.is_local:
        return None
    draft = home.local("scratch") / f"catalog-{os.getpid()}.duckdb"
    draft.unlink(missing_ok=True)
    with duckdb.connect(str(draft)) as connection:
        for name, parts in views.items():
            if parts:
                connection.execute(f'CREATE VIEW "{name}" AS {_select(parts)}')
    target = Path(home.path("catalog.duckdb"))
    draft.replace(target)
    return target


def _select(parts: Sequence[Part]) -> str:
    whole = [part.path for part in parts if part.live is None]
    selects = [f"SELECT * FROM read_parquet({_list(whole)})"] if whole else []
    for part in parts:
        if part.live is not None:
            column = "episode_id" if part.key == "episode_id" else "regexp_replace(question_id, '[^/]*$', '')"
            selects.append(
                f"SELECT * FROM read_parquet({_list([part.path])}) WHERE {column} IN {_list(sorted(part.live), '()')}"
            )
    return " UNION ALL BY NAME ".join(selects)


def _list(values: Sequence[str], brackets: str = "[]") -> str:
    quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"{brackets[0]}{quoted}{brackets[1]}"


def table_sizes(home: Home, parts: Sequence[Part]) -> dict[str, Any]:
    """Files, rows and bytes of a table, superseded rows included."""
    rows = 0
    for part in parts:
        with home.fs.open(part.path, "rb") as source:
            rows += pq.read_metadata(source).num_rows
    return {"files": len(parts), "rows": rows, "bytes": sum(home.fs.size(part.path) for part in parts)}
