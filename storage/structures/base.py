"""What a memory structure promises: a pure build from tables to files, and an access that turns a question into evidence.

A structure never sees a gold answer: `Query` has no field for one. What an access needs from a model (the query's vector)
arrives inside the query, so `storage/` never imports `models/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from fsspec import AbstractFileSystem

from storage.structures.events import Router


@dataclass(frozen=True, slots=True)
class Query:
    """A question as the retrievers see it. `vector` is its L2-normalised embedding (float32, shape (d,)) or None.

    `router` and `intent` are for the walk of H: learned weights (None walks by fixed rules) and a word of `INTENTS` ("" lets
    the structure's rules tell).
    """

    text: str
    vector: np.ndarray | None = None
    extra_steps: tuple[int, ...] = ()
    router: Router | None = None
    intent: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one structure returns for one question.

    `blocks` are the pieces of text in reading order; a composer may only cut between them. `steps` are the distinct labels
    of the steps whose content the blocks show, in reading order. `scores` belong to the retrieved items (windows, steps,
    relations), best first, in the structure's own scale; empty when nothing is ranked. `localised` is False when nothing in
    the episode matched the question, so what is shown (if anything) is a fallback.
    """

    blocks: tuple[str, ...]
    steps: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    localised: bool = True

    @property
    def text(self) -> str:
        return BLOCK_SEPARATOR.join(self.blocks)

    @property
    def block_starts(self) -> tuple[int, ...]:
        """Character offset of each block in `text`."""
        starts, at = [], 0
        for block in self.blocks:
            starts.append(at)
            at += len(block) + len(BLOCK_SEPARATOR)
        return tuple(starts)


BLOCK_SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class BuildInputs:
    """Tables of one shard. `steps` follows `schemas.STEPS`; `derived` maps a name in `Structure.derives` to its table."""

    steps: pa.Table
    derived: Mapping[str, pa.Table] = field(default_factory=dict)


@dataclass(frozen=True)
class BuiltShard:
    """A finished build: `folder` is a path for `fs`; `vectors` is the URI of the home's LanceDB (used by V only)."""

    fs: AbstractFileSystem
    folder: str
    vectors: str = ""


class EpisodeIndex(Protocol):
    """One episode of a built structure, opened for questions. Keep it to answer many: opening costs more than asking."""

    def access(self, query: Query) -> Evidence:
        """Deterministic for equal queries. Never raises for strange questions: empty text gives empty evidence."""
        ...


class Structure(Protocol):
    """A representation of an episode and its access. Implementations are frozen dataclasses; fields are the settings.

    The fields are part of the artifact's key, so every number that changes the output must be a field, and a change of the
    code that changes the output must raise `version`.
    """

    @property
    def letter(self) -> str:
        """One upper-case letter, the key in `STRUCTURES`."""
        ...

    @property
    def name(self) -> str:
        """A word for people: `summary`, `temporal`, ..."""
        ...

    @property
    def version(self) -> int: ...

    @property
    def derives(self) -> tuple[str, ...]:
        """Names of the derived tables that `build` needs: a subset of `summary`, `triples`, `embeddings`."""
        ...

    def build(self, inputs: BuildInputs, out: Path) -> int:
        """Write the files of one shard into the existing empty folder `out`; return the number of rows written.

        Pure and deterministic: equal inputs give equal bytes.
        """
        ...

    def open(self, shard: BuiltShard, episode_id: str) -> EpisodeIndex:
        """Open one episode of a built shard. `KeyError` names an episode that the shard does not hold."""
        ...
