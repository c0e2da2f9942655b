"""Taking the remnants of an episode out of files that hold other things too: journals, small JSON files, SQLite databases.

A string with a remnant goes out of a list; as a key it goes with its value; elsewhere it reads `[forgotten]`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from storage.artifacts import Home
from storage.remnants import SQLITE, Remnants, unescaped

FORGOTTEN = "[forgotten]"


def redacted(value: Any, remnants: Remnants, bare: bool) -> Any:
    """A JSON value without its remnants; `bare` as in `Remnants`."""
    if isinstance(value, str):
        return _redacted_text(value, remnants, bare)
    if isinstance(value, Mapping):
        return {k: redacted(v, remnants, bare) for k, v in value.items() if not remnants.in_value(k, bare)}
    if isinstance(value, list):
        kept = (item for item in value if not (isinstance(item, str) and remnants.in_value(item, bare)))
        return [redacted(item, remnants, bare) for item in kept]
    return value


def _redacted_text(text: str, remnants: Remnants, bare: bool) -> str:
    """A text that is JSON itself stays JSON."""
    if text[:1] in ("{", "["):
        try:
            value = json.loads(text)
        except ValueError:
            pass
        else:
            return json.dumps(redacted(value, remnants, bare), ensure_ascii=False) if remnants.in_json(value, bare) else text
    return FORGOTTEN if remnants.in_value(text, bare) else text


def redact_json_file(home: Home, path: str, remnants: Remnants) -> None:
    """Write a small JSON file of the data set again without remnants, in one atomic step."""
    value = home.read_json(path)
    if value is not None and remnants.in_json(value, bare=True):
        home.replace_json(path, redacted(value, remnants, bare=True))


def redact_journals(home: Home, dataset: str, episodes: frozenset[str], remnants: Remnants) -> int:
    """Take the records of some episodes out of every journal, and torn lines with them; return how many records went."""
    owners = {f"{dataset}/{episode}" for episode in episodes}
    gone = 0
    for path in sorted(home.fs.glob(home.path("journal", "*", "*.jsonl"))):
        lines = [line for line in home.fs.cat_file(path).split(b"\n") if line]
        kept = [line for line in lines if not _is_of(line, owners, remnants)]
        if len(kept) < len(lines):
            gone += len(lines) - len(kept)
            home.replace_file(path, b"".join(line + b"\n" for line in kept))
    return gone


def _is_of(line: bytes, owners: set[str], remnants: Remnants) -> bool:
    try:
        record = json.loads(line)
        return record["episode_id"] in owners or remnants.in_json(record, bare=False)
    except (ValueError, KeyError, TypeError):
        return True  # torn by a kill, so nobody reads it, and nobody can tell whose it is


def redact_sqlite(path: str, remnants: Remnants) -> int:
    """Redact every text of a SQLite database and free the bytes it had; return how many values changed.

    Other processes may have the database open; what they keep of it in the write-ahead log goes with their next checkpoint.
    """
    with Path(path).open("rb") as file:
        if file.read(len(SQLITE)) != SQLITE:
            return 0
    changed = 0
    with closing(sqlite3.connect(path, timeout=30.0, isolation_level=None)) as database:
        database.execute("PRAGMA secure_delete = ON")
        for table in _tables(database):
            changed += _redact_rows(database, table, remnants)
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return changed


def _tables(database: sqlite3.Connection) -> list[str]:
    """The tables whose rows can be named by `rowid`."""
    rows = database.execute("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND wr = 0")
    return [name for (name,) in rows.fetchall() if not name.startswith("sqlite_")]


def _redact_rows(database: sqlite3.Connection, table: str, remnants: Remnants) -> int:
    cursor = database.execute(f'SELECT rowid, * FROM "{table}"')
    columns = [column[0] for column in cursor.description]
    rows = cursor.fetchall()
    changed = 0
    for place, column in list(enumerate(columns))[1:]:
        texts = [row[place] if isinstance(row[place], str) else "" for row in rows]
        for row, text, holds in zip(rows, texts, remnants.which(map(unescaped, texts)), strict=True):
            if holds:
                new = _redacted_text(text, remnants, bare=False)
                database.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (new, row[0]))
                changed += 1
    return changed
