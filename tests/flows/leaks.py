"""What a stranger finds in a home who opens every file for what it is: an independent check of `strata forget`."""

from __future__ import annotations

import html
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import lancedb
import pyarrow.parquet as pq


def leaks(home: Path, words: Sequence[str]) -> dict[str, list[str]]:
    """The files with any of some words, by the top-level folder (or file) of the home."""
    found: dict[str, list[str]] = {}
    for name, text in _texts(home):
        if any(word.lower() in text.lower() for word in words):
            found.setdefault(name.split("/")[0], []).append(name)
    return found


def _texts(home: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(home.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(home).as_posix()
        data = path.read_bytes()
        raw = data.decode("utf-8", errors="replace")
        yield name, f"{name}\n{raw}\n{html.unescape(raw)}"
        if path.suffix == ".parquet":
            yield name, str(pq.read_table(path).to_pylist())
        elif path.suffix in (".json", ".jsonl"):
            for line in raw.splitlines() if path.suffix == ".jsonl" else [raw]:
                yield name, json.dumps(json.loads(line), ensure_ascii=False)
        elif data.startswith(b"SQLite format 3"):
            with closing(sqlite3.connect(path)) as database:
                yield name, "\n".join(database.iterdump())
        elif path.suffix == ".duckdb":
            with duckdb.connect(str(path), read_only=True) as catalogue:
                yield name, str(catalogue.sql("SELECT sql FROM duckdb_views()").fetchall())
    for table in sorted((home / "vectors").glob("*.lance")):
        opened = lancedb.connect(str(home / "vectors")).open_table(table.stem)
        for version in opened.list_versions():
            opened.checkout(version["version"])
            yield f"vectors/{table.name}", str(opened.to_arrow().drop_columns(["vector"]).to_pylist())
