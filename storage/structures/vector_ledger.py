"""Which builds a LanceDB table holds, in a small file beside it: a build with nothing to commit need not load LanceDB.

    {"versions": ["18446744073709551612.manifest", ...], "shards": ["v1-945fbeaf53387614/60077a3d0c8d1e2f", ...]}

The ledger is a shortcut, never the truth: every change of a table adds a version file, and a ledger that names other
versions than the table has says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from fsspec import AbstractFileSystem


@dataclass(frozen=True)
class VectorLedger:
    """The ledger of the table `name` in the LanceDB at `uri`, which lies in `fs`."""

    fs: AbstractFileSystem
    uri: str
    name: str

    def read(self) -> frozenset[str]:
        """The builds in the table; none where the ledger is missing, damaged or not of the table as it is now."""
        try:
            ledger = json.loads(self.fs.cat_file(self._path))
            is_current = ledger["versions"] == self._versions()
            return frozenset(ledger["shards"]) if is_current else frozenset()
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return frozenset()

    def write(self, shards: Iterable[str]) -> None:
        """Note what the table holds now. Only for the one task that commits."""
        ledger = {"versions": self._versions(), "shards": sorted(shards)}
        self.fs.pipe_file(self._path, json.dumps(ledger, indent=1).encode("utf-8"))

    def _versions(self) -> list[str]:
        folder = self._in_vectors(f"{self.name}.lance/_versions")
        self.fs.invalidate_cache(folder)
        return sorted(path.rsplit("/", 1)[-1] for path in self.fs.ls(folder, detail=False))

    @property
    def _path(self) -> str:
        return self._in_vectors(f"{self.name}.shards.json")

    def _in_vectors(self, path: str) -> str:
        return f"{self.fs._strip_protocol(self.uri)}/{path}"
