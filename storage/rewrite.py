"""Rows out of old artifacts into new ones: some episodes of one or several shards become a shard of their own, and with them
every artifact that was made from these shards. Nothing is computed again; `tasks/rewrite.py` knows the keys.

The files are those that a build of just these episodes would have written, byte for byte (an access's `ms` aside).
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.artifacts import ArtifactError, ArtifactKey, Home
from storage.lineage import Stored
from storage.shards import TABLES, Shard
from storage.structures.event_table import EDGES_FILE, NODES_FILE
from storage.tables import TABLE, write_table

SUMMED = ("tokens", "seconds")
"""What artifacts say they cost: kept as it was, and summed where several become one."""

Source = tuple[Shard, Collection[str]]
"""A shard and the episodes of it to keep, in the shard's order."""


def new_shard(home: Home, sources: Sequence[Source]) -> Shard:
    """Write the shard that holds the kept episodes of all sources, in order, unless it is there."""
    hashes = {e: shard.episodes[e] for shard, episodes in sources for e in shard.episodes if e in episodes}
    manifest = home.manifest(sources[0][0].key)
    if manifest is None:
        raise ArtifactError(f"{home.folder(sources[0][0].key)} is damaged: run `strata status --repair` first")
    inputs = tuple(f"{episode}:{checksum}" for episode, checksum in hashes.items())
    key = ArtifactKey(manifest["kind"], manifest["name"], manifest["version"], manifest["config"], inputs)
    shard = Shard(str(key), hashes)
    if home.has(key):
        return shard
    with home.write(key) as draft:
        for name in TABLES:
            files = [(f"{home.require(old.key)}/{name}.parquet", episodes) for old, episodes in sources]
            rows = _kept_of(home, files)
            if name == "episodes":
                names = pa.array([shard.name] * rows.num_rows, pa.string())
                rows = rows.set_column(rows.schema.get_field_index("shard"), "shard", names)
            draft.manifest[name] = write_table(draft.folder / f"{name}.parquet", rows)
    return shard


def read_tables(home: Home, sources: Sequence[tuple[Stored, Collection[str]]]) -> dict[str, pa.Table]:
    """The kept rows of equal artifacts of several shards by file name, source after source."""
    names = [name for name in sources[0][0].manifest["files"] if name.endswith(".parquet")]
    folders = [(home.require(artifact.path), episodes) for artifact, episodes in sources]
    return {name: _kept_of(home, [(f"{folder}/{name}", episodes) for folder, episodes in folders]) for name in names}


def _kept_of(home: Home, files: Sequence[tuple[str, Collection[str]]]) -> pa.Table:
    """The kept rows of some files, with the types that they were written with: reading renames the items of lists."""
    with home.fs.open(files[0][0], "rb") as source:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(pq.read_metadata(source).metadata[b"ARROW:schema"])))
    rows = [kept_rows(pq.read_table(path, filesystem=home.fs), episodes) for path, episodes in files]
    return pa.concat_tables(rows).cast(schema)


def write_rewritten(
    home: Home, key: ArtifactKey, sources: Sequence[Stored], tables: dict[str, pa.Table], notes: dict[str, Any]
) -> None:
    """Write an artifact with these tables, unless it is there. `notes` replace what the sources' manifests say."""
    if home.has(key):
        return
    with home.write(key) as draft:
        for name, rows in tables.items():
            _write(draft.folder / name, rows)
        draft.manifest |= _said(sources, tables) | notes


def kept_rows(table: pa.Table, episodes: Collection[str]) -> pa.Table:
    """The rows of some episodes; `table` has a column `episode_id` or `question_id`."""
    if "episode_id" in table.column_names:
        owners = table.column("episode_id")
    else:
        owners = pc.replace_substring_regex(table.column("question_id"), r"(?s)^[^/]*/(.*)/[^/]*$", r"\1")
    return table.filter(pc.is_in(owners, pa.array(sorted(episodes), pa.string())))


def _write(path: Path, rows: pa.Table) -> None:
    """As the stage wrote it: tables of episodes one row group each, tables of questions as they come."""
    if "episode_id" in rows.column_names:
        write_table(path, rows)
    else:
        pq.write_table(rows, path, compression="zstd")


def _said(sources: Sequence[Stored], tables: dict[str, pa.Table]) -> dict[str, Any]:
    """What the new manifest says beside its key and files."""
    first = sources[0].manifest
    fixed = {"kind", "name", "version", "config", "inputs", "strata", "files", "created_at"}
    said = {name: value for name, value in first.items() if name not in fixed}
    for name in SUMMED:
        if name in said:
            said[name] = round(sum(source.manifest.get(name, 0) for source in sources), 3)
    if "rows" in said:
        said["rows"] = _row_count(tables)
    if "errors" in said:
        said["errors"] = tables[TABLE].column("status").to_pylist().count("error")
    return said


def _row_count(tables: dict[str, pa.Table]) -> int:
    """What a stage counts as its rows: events and edges of an event graph, triples of a graph, else rows of the table."""
    if NODES_FILE in tables:
        return int(tables[NODES_FILE].num_rows + tables[EDGES_FILE].num_rows)
    table = tables[TABLE]
    if "triples" in table.column_names:
        return int(pc.sum(pc.list_value_length(table.column("triples"))).as_py() or 0)
    return int(table.num_rows)
