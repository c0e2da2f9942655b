"""Rows of built Parquet files through DuckDB: one in-memory database per process, a cursor per query."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from fsspec import AbstractFileSystem

if TYPE_CHECKING:
    import duckdb

_LOCK = threading.Lock()
_DATABASES: dict[int, duckdb.DuckDBPyConnection] = {}  # by process id: a forked child must not share its parent's
_REGISTERED: dict[str, AbstractFileSystem] = {}


def query_parquet(fs: AbstractFileSystem, path: str, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """All rows of `sql`, where `$file` stands for the Parquet file `path` of `fs` and each `?` for a parameter.

    `FileNotFoundError` when the file is not there. Safe to call from several threads.
    """
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    is_local = "file" in protocols
    if not fs.exists(path):
        raise FileNotFoundError(f"{path} is missing: build the structure again")
    with _LOCK:
        database = _database()
        if not is_local:
            _register(database, protocols[0], fs)
        cursor = database.cursor()
    location = str(path) if is_local else fs.unstrip_protocol(path)
    with cursor:
        return cursor.execute(sql.replace("$file", "read_parquet(?)"), [location, *parameters]).fetchall()


def _database() -> duckdb.DuckDBPyConnection:
    import duckdb

    process = os.getpid()
    if process not in _DATABASES:
        _REGISTERED.clear()
        _DATABASES[process] = duckdb.connect(":memory:", config={"threads": 1})
    return _DATABASES[process]


def _register(database: duckdb.DuckDBPyConnection, protocol: str, fs: AbstractFileSystem) -> None:
    """Make DuckDB read `protocol://` through `fs`; another file system of the same protocol takes the place of the last."""
    if _REGISTERED.get(protocol) is fs:
        return
    if protocol in _REGISTERED:
        database.unregister_filesystem(protocol)
    database.register_filesystem(fs)
    _REGISTERED[protocol] = fs
