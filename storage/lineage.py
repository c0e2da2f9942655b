"""What artifacts were made from: the finished artifacts of a home, and which of them belong to one shard.

An artifact's manifest names its inputs by key, so that everything made from a shard can be found from the shard's key alone.
`ROW_KINDS` are those that hold rows of episodes; pages, searches and trainings are about whole data sets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from storage.artifacts import MANIFEST, ArtifactKey, Home

CORPUS = "corpus"
ROW_KINDS = ("derived", "structures", "evidence", "answers", "outcomes")
"""In the order in which they are made from each other."""


@dataclass(frozen=True)
class Stored:
    """A finished artifact: its key as a path, and its manifest."""

    path: str
    manifest: Mapping[str, Any] = field(hash=False)

    @property
    def kind(self) -> str:
        return self.path.split("/", 1)[0]

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(self.manifest["inputs"])

    @cached_property
    def key(self) -> ArtifactKey:
        """The key that the manifest describes; its path differs from `path` only when the manifest was tampered with."""
        named = self.manifest
        return ArtifactKey(named["kind"], named["name"], named["version"], named["config"], tuple(named["inputs"]))


def artifact_folders(home: Home) -> list[str]:
    """The keys of everything that looks like an artifact: a folder with a manifest, damaged ones included."""
    prefix = f"{home.root}/"
    found = (path[len(prefix) :].rsplit("/", 1)[0] for path in home.fs.glob(home.path("*", "*", "*", "*", MANIFEST)))
    return sorted(found)


def stored(home: Home, kinds: Iterable[str] = (CORPUS, *ROW_KINDS)) -> Iterator[Stored]:
    """Every artifact of some kinds with a readable manifest, in the order of their paths."""
    for kind in kinds:
        for path in sorted(home.fs.glob(home.path(kind, "*", "*", "*", MANIFEST))):
            try:
                manifest = json.loads(home.fs.cat_file(path))
            except ValueError:
                continue  # a damaged manifest is no artifact: `storage/verify.py` reports it
            if isinstance(manifest, dict) and "inputs" in manifest:
                yield Stored(path[len(home.root) + 1 :].rsplit("/", 1)[0], manifest)


class Lineage:
    """The row-keeping artifacts of a home by what they were made from. A snapshot: it does not see later changes."""

    def __init__(self, home: Home) -> None:
        self._users: dict[str, list[Stored]] = {}
        self._all = list(stored(home, ROW_KINDS))
        for artifact in self._all:
            for key in artifact.inputs:
                self._users.setdefault(key, []).append(artifact)

    def shards(self) -> list[str]:
        """The shards that something was made from, whether they are still there or not."""
        return sorted(key for key in self._users if key.startswith(f"{CORPUS}/"))

    def of_shard(self, key: str) -> list[Stored]:
        """Everything that was made from a shard, directly or not; what others are made from comes first."""
        found: dict[str, Stored] = {}
        todo = [key]
        while todo:
            for artifact in self._users.get(todo.pop(), ()):
                if artifact.path not in found:
                    found[artifact.path] = artifact
                    todo.append(artifact.path)
        return in_order(found.values())

    def orphans(self, dataset: str, live: Iterable[str]) -> list[Stored]:
        """Everything that was made from a shard of a data set that is not among `live`, which may be gone; users first."""
        kept, mine = set(live), f"{CORPUS}/{dataset}/"
        gone = {key for key in self._users if key.startswith(mine) and key not in kept}
        return in_order(artifact for key in gone for artifact in self.of_shard(key))[::-1]

    def under(self, prefix: str) -> list[Stored]:
        """The artifacts whose key starts with `prefix`."""
        return [artifact for artifact in self._all if artifact.path.startswith(prefix)]


def in_order(artifacts: Iterable[Stored]) -> list[Stored]:
    """Each artifact after all that it was made from."""
    todo = {artifact.path: artifact for artifact in artifacts}
    done: dict[str, Stored] = {}

    def visit(artifact: Stored) -> None:
        if artifact.path in done:
            return
        for key in artifact.inputs:
            if key in todo:
                visit(todo[key])
        done[artifact.path] = artifact

    for path in sorted(todo):
        visit(todo[path])
    return list(done.values())
