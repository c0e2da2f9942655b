"""Paid completions, kept as they arrive, so that a killed task never pays twice for one of them.

A record's key is a digest of everything that decides the completion (model, prompt, settings).

    {"key": "9f0c...", "episode_id": "conv-26", "value": {"text": "7 May 2023", "prompt_tokens": 912, ...}}
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from storage.artifacts import Home
from storage.segments import SegmentWriter, read_segments


class Journal:
    """The journal `journal/<stage>` of a home. Safe to use from threads; a torn last line of a killed process is skipped."""

    def __init__(self, home: Home, stage: str):
        self._lock = threading.Lock()
        self._writer = SegmentWriter(home, "journal", stage)
        records = read_segments(home, "journal", stage)
        self._values = {r["key"]: r["value"] for r in records if "key" in r and "value" in r}

    def get(self, key: str) -> Any | None:
        """The value journalled under `key`, or None."""
        with self._lock:
            return self._values.get(key)

    def put(self, key: str, episode_id: str, value: Mapping[str, Any]) -> None:
        """Journal one completion. It is on disk (handed to the operating system) when this returns."""
        with self._lock:
            self._values[key] = dict(value)
            self._writer.append({"key": key, "episode_id": episode_id, "value": dict(value)})
