"""The derived tables: what each is made from and by whom. A derivation is slow or paid, so it is cached apart from a build.

Those here need no language model; `model_derivations.py` makes the same tables with one. `derivations` chooses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
from storage.structures.event_table import EventRow, events_schema
from storage.structures.render import steps_by_episode
from storage.structures.vector import VectorStructure


@dataclass(frozen=True)
class Work:
    """One shard to derive a table of. `tables` are the derived tables that the derivation `needs`, by name."""

    home: Home
    shard: Shard
    budget_id: str = ""
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


@dataclass(frozen=True)
class Derived:
    """A derived table, an episode's rows together; `notes` go into the artifact's manifest."""

    table: pa.Table
    notes: Mapping[str, Any] = field(default_factory=dict)


class Derivation(Protocol):
    """`name` is what structures ask for in `derives`; `config` and `version` are part of the artifact's key."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def config(self) -> Any: ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of derived tables of the same shard that this one is made from."""
        ...

    def derive(self, work: Work) -> Derived:
        """The derived table of one shard."""
        ...


@dataclass(frozen=True)
class DigestDerivation:
    """The key-turn digest as the summary (rows of `schemas.SUMMARIES`)."""

    config: DigestConfig
    name: ClassVar[str] = "summary"
    version: ClassVar[int] = 2
    needs: ClassVar[tuple[str, ...]] = ()

    def derive(self, work: Work) -> Derived:
        tasks = tasks_by_episode(work)
        rows = [
            {"episode_id": episode, **segment}
            for episode, steps in steps_by_episode(read_shard(work.home, work.shard, "steps")).items()
            for segment in digest(tasks[episode], steps, self.config)
        ]
        return Derived(pa.Table.from_pylist(rows, schema=schemas.SUMMARIES))


@dataclass(frozen=True)
class RuleTriplesDerivation:
    """Triples by rule (rows of `schemas.TRIPLES`)."""

    config: RuleTriplesConfig
    name: ClassVar[str] = "triples"
    version: ClassVar[int] = 2
    needs: ClassVar[tuple[str, ...]] = ()

    def derive(self, work: Work) -> Derived:
        rows = [
            {"episode_id": episode, **triple}
            for episode, steps in steps_by_episode(read_shard(work.home, work.shard, "steps")).items()
            for triple in rule_triples(steps, self.config)
        ]
        return Derived(pa.Table.from_pylist(rows, schema=schemas.TRIPLES))


@dataclass(frozen=True)
class EmbeddingsDerivation:
    """One vector per step (rows of `schemas.embeddings`)."""

    structure: VectorStructure
    embedder: str
    name: ClassVar[str] = "embeddings"
    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def config(self) -> Any:
        return {"embedder": embedder(self.embedder).name, "max_chars": self.structure.max_chars}

    def derive(self, work: Work) -> Derived:
        steps = read_shard(work.home, work.shard, "steps")
        vectors = embedder(self.embedder).embed_documents(self.structure.texts(steps))
        return Derived(vector_table(vectors, episode_id=steps.column("episode_id"), step=steps.column("step")))


@dataclass(frozen=True)
class EventsDerivation:
    """One event per step with its vector (rows of `event_table.events_schema`)."""

    events: EventsConfig
    embedder: str
    name: ClassVar[str] = "events"
    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def config(self) -> Any:
        return {"events": self.events, "embedder": embedder(self.embedder).name}

    def derive(self, work: Work) -> Derived:
        steps = steps_by_episode(read_shard(work.home, work.shard, "steps"))
        made = {episode: events(rows, self.events) for episode, rows in steps.items()}
        return Derived(embedded_events(made, self.embedder))


@dataclass(frozen=True)
class QuestionVectorsDerivation:
    """One vector per question, for the access of V and H (columns question_id, episode_id, vector)."""

    embedder: str
    name: ClassVar[str] = "question_vectors"
    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def config(self) -> Any:
        return {"embedder": embedder(self.embedder).name}

    def derive(self, work: Work) -> Derived:
        questions = read_shard(work.home, work.shard, "questions")
        vectors = embedder(self.embedder).embed_queries(questions.column("question").to_pylist())
        columns = {name: questions.column(name) for name in ("question_id", "episode_id")}
        return Derived(vector_table(vectors, **columns))


def tasks_by_episode(work: Work) -> dict[str, str]:
    """The task text of each episode of the shard."""
    episodes = read_shard(work.home, work.shard, "episodes")
    return dict(zip(episodes.column("episode_id").to_pylist(), episodes.column("task").to_pylist(), strict=True))


def embedded_events(made: Mapping[str, list[EventRow]], encoder: str) -> pa.Table:
    """Events by episode with the vectors of their contents, as `event_table.events_schema` has them."""
    rows = [{"episode_id": episode, **event._asdict()} for episode, found in made.items() for event in found]
    vectors = embedder(encoder).embed_documents([str(row["content"]) for row in rows])
    schema = events_schema(vectors.shape[1])
    table = pa.Table.from_pylist(rows, schema=schema.remove(schema.get_field_index("vector")))
    return vector_table(vectors, **dict(zip(table.column_names, table.columns, strict=True))).cast(schema)


def vector_table(vectors: np.ndarray, **columns: pa.ChunkedArray) -> pa.Table:
    """`columns` and a fixed-size list column `vector` from a float32 matrix of shape (rows, dimension)."""
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    return pa.table({**columns, "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])})
