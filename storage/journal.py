"""Paid completions, kept as they arrive, so that a killed task never pays twice for one of them.

A journal is a folder of JSONL segments; each process appends to a segment of its own, so that nobody waits and nobody tears
another's line. A record's key is a digest of everything that decides the completion (model, prompt, settings).

    {"key": "9f0c...", "episode_id": "conv-26", "value": {"text": "7 May 2023", "prompt_tokens": 912, ...}}
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from storage.artifacts import Home


class Journal:
    """The journal `journal/<stage>` of a home. Safe to use from threads; a torn last line of a killed process is skipped."""

    def __init__(self, home: Home, stage: str):
        self._home = home
        self._folder = home.path("journal", stage)
        self._lock = threading.Lock()
        self._own = f"{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl"
        self._lines: list[bytes] = []
        self._values = self._load()

    def _load(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for path in sorted(self._home.fs.glob(f"{self._folder}/*.jsonl")):
            for line in self._home.fs.cat_file(path).split(b"\n"):
                record = _parse(line)
                if record is not None:
                    values[record["key"]] = record["value"]
        return values

    def get(self, key: str) -> Any | None:
        """The value journalled under `key`, or None."""
        with self._lock:
            return self._values.get(key)

    def put(self, key: str, episode_id: str, value: Mapping[str, Any]) -> None:
        """Journal one completion. It is on disk (handed to the operating system) when this returns."""
        line = json.dumps({"key": key, "episode_id": episode_id, "value": dict(value)}, ensure_ascii=False)
        with self._lock:
            self._values[key] = dict(value)
            self._append(line.encode("utf-8") + b"\n")

    def _append(self, line: bytes) -> None:
        path = f"{self._folder}/{self._own}"
        if self._home.is_local:
            os.makedirs(self._folder, exist_ok=True)
            with Path(path).open("ab") as file:
                file.write(line)
            return
        self._lines.append(line)  # object stores cannot append: the segment is written again, and stays small
        self._home.fs.pipe_file(path, b"".join(self._lines))
        if len(self._lines) >= 256:
            self._own, self._lines = f"{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl", []


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "key" in record and "value" in record else None
