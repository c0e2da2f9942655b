"""Derived tables that a language model makes: summaries, triples, events and edge scores. Every completion is journalled.

The settings' `builder` names the model and `built_by_model` the tables; the others are made by rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import pyarrow as pa

from models.embedders import embedder
from models.extract.llm_edges import EdgesConfig, score_edges
from models.extract.llm_events import LlmEventsConfig, extract_events
from models.extract.llm_summary import SummaryConfig, summarise
from models.extract.llm_triples import TriplesConfig, extract_triples
from models.extract.replies import ReplyCounts
from models.llm.asking import Asking
from models.prompts import edges as edges_prompt
from models.prompts import events as events_prompt
from models.prompts import openie as openie_prompt
from models.prompts import summary as summary_prompt
from storage import schemas
from storage.shards import read_shard
from storage.structures.event_graph import EventGraphStructure
from storage.structures.event_table import EDGES
from storage.structures.render import StepRow, steps_by_episode
from tasks.derivations import Derived, Work, embedded_events, tasks_by_episode
from tasks.paid import paid_askings
from tasks.readers import model


class Made(Protocol):
    """What an extractor makes of one episode."""

    @property
    def rows(self) -> Sequence[Any]: ...

    @property
    def counts(self) -> ReplyCounts: ...


M = TypeVar("M", bound=Made)


def _ask(work: Work, spec: str, stage: str, askings: Mapping[str, Asking[M]]) -> tuple[dict[str, M], dict[str, Any]]:
    """What the model makes of each episode, all of a shard together, and what the manifest says of it.

    `DerivationError` when a request failed.
    """
    names = [f"{work.shard.dataset}/{episode}" for episode in askings]
    paid = paid_askings(work.home, stage, model(spec), list(askings.values()), names, work.budget_id)
    counts = sum((made.counts for made in paid.results), start=ReplyCounts())
    notes = {"model": model(spec).name, "tokens": paid.tokens, "replies": asdict(counts)}
    return dict(zip(askings, paid.results, strict=True)), notes


def _derived(made: Mapping[str, Made], notes: Mapping[str, Any], schema: pa.Schema) -> Derived:
    """The rows of all episodes as one table."""
    rows = [{"episode_id": episode, **row} for episode, found in made.items() for row in found.rows]
    return Derived(pa.Table.from_pylist(rows, schema=schema), notes)


def _config(spec: str, settings: Any, *prompts: str) -> dict[str, Any]:
    """What decides a model's table, for its key."""
    return {"model": model(spec).name, "settings": settings, "prompts": list(prompts)}


def _steps(work: Work) -> dict[str, list[StepRow]]:
    return steps_by_episode(read_shard(work.home, work.shard, "steps"))


@dataclass(frozen=True)
class SummaryByModel:
    """One summary per segment (MESA, prompt C.1)."""

    spec: str
    settings: SummaryConfig
    name: ClassVar[str] = "summary"
    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def config(self) -> Any:
        return _config(self.spec, self.settings, summary_prompt.digest())

    def derive(self, work: Work) -> Derived:
        tasks = tasks_by_episode(work)
        askings = {e: summarise(tasks[e], rows, self.settings) for e, rows in _steps(work).items()}
        return _derived(*_ask(work, self.spec, "summary", askings), schemas.SUMMARIES)


@dataclass(frozen=True)
class TriplesByModel:
    """Two-stage OpenIE (MESA, prompts C.2)."""

    spec: str
    settings: TriplesConfig
    name: ClassVar[str] = "triples"
    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def config(self) -> Any:
        return _config(self.spec, self.settings, openie_prompt.digest())

    def derive(self, work: Work) -> Derived:
        askings = {episode: extract_triples(rows, self.settings) for episode, rows in _steps(work).items()}
        return _derived(*_ask(work, self.spec, "triples", askings), schemas.TRIPLES)


@dataclass(frozen=True)
class EventsByModel:
    """Event extraction (HAGE, prompt C.1), embedded."""

    spec: str
    settings: LlmEventsConfig
    embedder: str
    name: ClassVar[str] = "events"
    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def config(self) -> Any:
        return {**_config(self.spec, self.settings, events_prompt.digest()), "embedder": embedder(self.embedder).name}

    def derive(self, work: Work) -> Derived:
        askings = {episode: extract_events(rows, self.settings) for episode, rows in _steps(work).items()}
        made, notes = _ask(work, self.spec, "events", askings)
        return Derived(embedded_events({episode: found.rows for episode, found in made.items()}, self.embedder), notes)


@dataclass(frozen=True)
class EdgeScoresByModel:
    """Four relations per edge of the event graph (HAGE, Eq. 6), by edge and never by question."""

    spec: str
    settings: EdgesConfig
    graph: EventGraphStructure
    name: ClassVar[str] = "edge_scores"
    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ("events",)

    @property
    def config(self) -> Any:
        return {**_config(self.spec, self.settings, edges_prompt.digest()), "links": self.graph.links}

    def derive(self, work: Work) -> Derived:
        steps = read_shard(work.home, work.shard, "steps")
        graphs = {graph.episode_id: graph for _, graph in self.graph.linked(steps, work.tables["events"])}
        askings = {episode: score_edges(graph, self.settings) for episode, graph in graphs.items()}
        return _derived(*_ask(work, self.spec, "edges", askings), EDGES)
