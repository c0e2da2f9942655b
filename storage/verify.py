"""Is a home whole? Every artifact against its manifest, every small file and segment readable.

A problem names the path, what is wrong, and what to do; `repair` is the step of `tasks/verify.py` that does it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from storage.artifacts import MANIFEST, ArtifactError, Home
from storage.lineage import CORPUS, ROW_KINDS, Stored
from storage.shards import datasets, load_dataset

AGGREGATES = ("reports", "searches", "training", "routers")
BUILD_AGAIN = (
    "`strata status --repair` removes it; the command that made it makes it again, and completions are paid for once"
)
INGEST_AGAIN = "`strata status --repair` sets it aside and takes it out of the data set; then ingest the source again"
SET_ASIDE = "`strata status --repair` sets it aside"
KILLED = "a killed process was writing it"
DRAFT = ".draft-"


@dataclass(frozen=True)
class Problem:
    """Something in a home that is not as it should be. `repair` is "" where only a person can tell what to do."""

    path: str
    what: str
    do: str
    repair: str = ""


def artifact_problems(home: Home) -> Iterator[Problem]:
    """Artifacts without a readable manifest, or with files that are not those of their manifest (size and SHA-256)."""
    for kind in (CORPUS, *ROW_KINDS, *AGGREGATES):
        for folder in sorted(home.fs.glob(home.path(kind, "*", "*", "*"))):
            if home.fs.isdir(folder) and (what := _damage(home, folder)):
                path = folder[len(home.root) + 1 :]
                do, repair = (INGEST_AGAIN, "shard") if kind == CORPUS else (BUILD_AGAIN, "artifact")
                yield Problem(path, what, do, repair)


def _damage(home: Home, folder: str) -> str:
    """What is wrong with an artifact; "" when it is whole."""
    try:
        manifest = json.loads(home.fs.cat_file(f"{folder}/{MANIFEST}"))
        named = Stored(folder, manifest).key.path
        for name, file in manifest["files"].items():
            if damage := _file_damage(home, f"{folder}/{name}", file):
                return f"{name}: {damage}"
    except FileNotFoundError:
        return "half-written: it has no manifest"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"its manifest is damaged: {error}"
    return "" if folder.endswith(f"/{named}") else f"its manifest is that of {named}"


def _file_damage(home: Home, path: str, said: dict[str, Any]) -> str:
    try:
        data = home.fs.cat_file(path)
    except FileNotFoundError:
        return "missing"
    if len(data) != said["bytes"]:
        return f"{len(data):,} bytes instead of {said['bytes']:,}"
    return "" if hashlib.sha256(data).hexdigest() == said["sha256"] else "its content has changed (SHA-256)"


def head_problems(home: Home) -> Iterator[Problem]:
    """Heads that cannot be read or name a shard that is not there, and other small files that cannot be read."""
    for name in datasets(home):
        path = f"corpora/{name}/head.json"
        try:
            shards = load_dataset(home, name).shards
        except (ArtifactError, KeyError, TypeError, AttributeError) as error:
            do = "`strata status --repair` writes it from the shards in the order of their ingest"
            yield Problem(path, f"cannot be read: {error}", do, "head")
            continue
        for shard in shards:
            if not home.fs.exists(home.path(shard.key)):
                do = "`strata status --repair` takes it out of the data set; then ingest the source again"
                yield Problem(shard.key, f"a shard with {len(shard.episodes)} episodes of {name} is missing", do, "shard")
    for pattern in (("corpora", "*", "*.json"), ("policies", "*", "*.json"), ("policies", "*", "runs", "*.json")):
        for found in sorted(home.fs.glob(home.path(*pattern))):
            if not found.endswith("/head.json") and (problem := _json_problem(home, found)):
                yield problem


def _json_problem(home: Home, path: str) -> Problem | None:
    try:
        value = home.read_json(path)
    except ArtifactError as error:
        return Problem(path[len(home.root) + 1 :], f"cannot be read: {error}", SET_ASIDE, "file")
    pointed = value.get("router") if value and path.endswith("/router.json") else None
    if pointed and not home.has(pointed):
        do = f"{SET_ASIDE}: H is walked by fixed rules until `strata train-router`"
        return Problem(path[len(home.root) + 1 :], f"names a router that is missing: {pointed}", do, "file")
    return None


def segment_problems(home: Home) -> Iterator[Problem]:
    """Journals and ledgers with a line that cannot be read. A torn last line is what a kill leaves, and no problem."""
    for pattern in (("journal", "*", "*.jsonl"), ("ledger", "*.jsonl")):
        for path in sorted(home.fs.glob(home.path(*pattern))):
            lines = home.fs.cat_file(path).split(b"\n")[:-1]
            bad = [number for number, line in enumerate(lines, 1) if not is_record(line)]
            if bad:
                what = f"line {bad[0]} cannot be read" + (f", nor can {len(bad) - 1} others" if len(bad) > 1 else "")
                do = "`strata status --repair` keeps the other lines and sets the file as it is aside"
                yield Problem(path[len(home.root) + 1 :], what, do, "segment")


def is_record(line: bytes) -> bool:
    """Whether a line of a segment is a JSON object."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def database_problems(home: Home) -> Iterator[Problem]:
    """SQLite databases of Prefect and MLflow that fail SQLite's own check, and a catalogue that DuckDB cannot open."""
    if not home.is_local:
        return
    for path in sorted((*home.fs.glob(home.path("mlflow", "*.db")), *home.fs.glob(home.path("prefect", "*.db")))):
        if what := _sqlite_damage(path):
            yield Problem(path[len(home.root) + 1 :], what, f"{SET_ASIDE}; a new one is made, without the old runs", "file")
    catalog = home.path("catalog.duckdb")
    if home.fs.exists(catalog) and (what := _duckdb_damage(catalog)):
        yield Problem("catalog.duckdb", what, "`strata status --repair` writes it again", "catalog")


def _sqlite_damage(path: str) -> str:
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as database:
            (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return f"SQLite cannot read it: {error}"
    return "" if answer == "ok" else f"SQLite says: {answer}"


def _duckdb_damage(path: str) -> str:
    import duckdb

    try:
        with duckdb.connect(path, read_only=True) as database:
            database.execute("SELECT count(*) FROM duckdb_views()").fetchone()
    except duckdb.Error as error:
        return f"DuckDB cannot read it: {str(error).splitlines()[0]}"
    return ""


def draft_problems(home: Home) -> Iterator[Problem]:
    """What killed processes were writing."""
    for path in home.dead_drafts():
        yield Problem(path, KILLED, "`strata status --repair` removes it, as every build does", "draft")
    if home.is_local:
        for folder in ("corpora", "policies", "journal", "routers", "forgetting"):
            for path in home.fs.glob(home.path(folder, "**", f"{DRAFT}*")):
                do = "`strata status --repair` removes it"
                yield Problem(path[len(home.root) + 1 :], KILLED, do, "draft")
