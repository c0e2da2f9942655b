"""The derived tables: what each is made from and by whom. A derivation is slow or paid, so it is cached apart from a build.

The summary and the triples are made without a language model here; another maker of the same table is another class with the
same name and schema, chosen in `derivations`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from models.embedders import embedder
from models.extract.digest import DigestConfig, digest
from models.extract.events import EventsConfig, events
from models.extract.rule_triples import RuleTriplesConfig, rule_triples
from storage import schemas
from storage.artifacts import Home
from storage.shards import Shard, read_shard
from storage.structures.event_table import events_schema
from storage.structures.render import steps_by_episode
from storage.structures.vector import VectorStructure
from tasks.settings import Settings


class Derivation(Protocol):
    """`name` is what structures ask for in `derives`; `config` and `version` are part of the artifact's key."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def config(self) -> Any: ...

    def table(self, home: Home, shard: Shard) -> pa.Table:
        """The derived table of one shard, an episode's rows together."""
        ...


@dataclass(frozen=True)
class DigestDerivation:
    """The key-turn digest as the summary (rows of `schemas.SUMMARIES`)."""

    config: DigestConfig
    name: ClassVar[str] = "summary"
    version: ClassVar[int] = 2

    def table(self, home: Home, shard: Shard) -> pa.Table:
        tasks = dict(zip(*_columns(read_shard(home, shard, "episodes"), "episode_id", "task"), strict=True))
        rows = [
            {"episode_id": episode, **segment}
            for episode, steps in steps_by_episode(read_shard(home, shard, "steps")).items()
            for segment in digest(tasks[episode], steps, self.config)
        ]
        return pa.Table.from_pylist(rows, schema=schemas.SUMMARIES)


@dataclass(frozen=True)
class RuleTriplesDerivation:
    """Triples by rule (rows of `schemas.TRIPLES`)."""

    config: RuleTriplesConfig
    name: ClassVar[str] = "triples"
    version: ClassVar[int] = 2

    def table(self, home: Home, shard: Shard) -> pa.Table:
        rows = [
            {"episode_id": episode, **triple}
            for episode, steps in steps_by_episode(read_shard(home, shard, "steps")).items()
            for triple in rule_triples(steps, self.config)
        ]
        return pa.Table.from_pylist(rows, schema=schemas.TRIPLES)


@dataclass(frozen=True)
class EmbeddingsDerivation:
    """One vector per step (rows of `schemas.embeddings`)."""

    structure: VectorStructure
    embedder: str
    name: ClassVar[str] = "embeddings"
    version: ClassVar[int] = 1

    @property
    def config(self) -> Any:
        return {"embedder": self.embedder, "max_chars": self.structure.max_chars}

    def table(self, home: Home, shard: Shard) -> pa.Table:
        steps = read_shard(home, shard, "steps")
        vectors = embedder(self.embedder).embed_documents(self.structure.texts(steps))
        return _vector_table(vectors, episode_id=steps.column("episode_id"), step=steps.column("step"))


@dataclass(frozen=True)
class EventsDerivation:
    """One event per step with its vector (rows of `event_table.events_schema`)."""

    events: EventsConfig
    embedder: str
    name: ClassVar[str] = "events"
    version: ClassVar[int] = 1

    @property
    def config(self) -> Any:
        return {"events": self.events, "embedder": self.embedder}

    def table(self, home: Home, shard: Shard) -> pa.Table:
        rows = [
            {"episode_id": episode, **event._asdict()}
            for episode, steps in steps_by_episode(read_shard(home, shard, "steps")).items()
            for event in events(steps, self.events)
        ]
        vectors = embedder(self.embedder).embed_documents([row["content"] for row in rows])
        schema = events_schema(vectors.shape[1])
        table = pa.Table.from_pylist(rows, schema=schema.remove(schema.get_field_index("vector")))
        return _vector_table(vectors, **dict(zip(table.column_names, table.columns, strict=True))).cast(schema)


@dataclass(frozen=True)
class QuestionVectorsDerivation:
    """One vector per question, for the access of V (columns question_id, episode_id, vector)."""

    embedder: str
    name: ClassVar[str] = "question_vectors"
    version: ClassVar[int] = 1

    @property
    def config(self) -> Any:
        return {"embedder": self.embedder}

    def table(self, home: Home, shard: Shard) -> pa.Table:
        questions = read_shard(home, shard, "questions")
        vectors = embedder(self.embedder).embed_queries(questions.column("question").to_pylist())
        columns = {name: questions.column(name) for name in ("question_id", "episode_id")}
        return _vector_table(vectors, **columns)


def derivations(settings: Settings) -> tuple[Derivation, ...]:
    """Every derivation that structures may ask for, as the settings choose them."""
    vector = settings.structure("V")
    assert isinstance(vector, VectorStructure)
    return (
        DigestDerivation(settings.digest),
        RuleTriplesDerivation(settings.triples),
        EmbeddingsDerivation(vector, settings.embedder),
        EventsDerivation(settings.events, settings.embedder),
    )


def _columns(table: pa.Table, *names: str) -> list[list[Any]]:
    return [table.column(name).to_pylist() for name in names]


def _vector_table(vectors: np.ndarray, **columns: pa.ChunkedArray) -> pa.Table:
    """`columns` and a fixed-size list column `vector` from a float32 matrix of shape (rows, dimension)."""
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    return pa.table({**columns, "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])})
