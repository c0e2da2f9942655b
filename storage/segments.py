"""Folders of JSON lines that many processes add to: each appends to a segment of its own, so that nobody waits and nobody
tears another's line."""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from storage.artifacts import Home

SEGMENT_LINES = 256
"""Lines of a segment in an object store, which is written again with every line."""


class SegmentWriter:
    """Appends to a segment of its own in `folder` of a home. Safe to use from threads."""

    def __init__(self, home: Home, *folder: str):
        self._home = home
        self._folder = home.path(*folder)
        self._lock = threading.Lock()
        self._lines: list[bytes] = []
        self._own = _new_name()

    def append(self, record: Mapping[str, Any]) -> None:
        """Add one line. It is on disk (handed to the operating system) when this returns."""
        line = json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n"
        with self._lock:
            if self._home.is_local:
                self._append_locally(line)
            else:  # object stores cannot append: the segment is written again, and stays small
                self._write_again(line)

    def _append_locally(self, line: bytes) -> None:
        os.makedirs(self._folder, exist_ok=True)
        with Path(self._folder, self._own).open("ab") as file:
            file.write(line)

    def _write_again(self, line: bytes) -> None:
        self._lines.append(line)
        self._home.fs.pipe_file(f"{self._folder}/{self._own}", b"".join(self._lines))
        if len(self._lines) >= SEGMENT_LINES:
            self._own, self._lines = _new_name(), []


def _new_name() -> str:
    return f"{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl"


def read_segments(home: Home, *folder: str) -> Iterator[dict[str, Any]]:
    """The objects of all segments in the order of their names; a torn last line of a killed process is skipped."""
    for path in sorted(home.fs.glob(f"{home.path(*folder)}/*.jsonl")):
        for line in home.fs.cat_file(path).split(b"\n"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record
