"""Derived tables that a language model makes: summaries, triples, events and edge scores. Every completion is journalled.

The settings' `builder` names the model and `built_by_model` the tables; the others are made by rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from models.extract.llm_edges import EdgesConfig, score_edges
from models.extract.llm_events import LlmEventsConfig, extract_events
from models.extract.llm_summary import SummaryConfig, summarise
from models.extract.llm_triples import TriplesConfig, extract_triples
from models.extract.replies import ReplyCounts
from models.llm.asking import Asking, run_together
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
from tasks.paid import paid_completions
from tasks.readers import model

Made = TypeVar("Made")


def ask_episodes(work: Work, spec: str, stage: str, askings: Mapping[str, Asking[Made]]) -> dict[str, Made]:
    """What each episode's asking makes, all of a shard together. `DerivationError` when a request failed."""
    episodes = list(askings)

    def complete(requests: Any, owners: Any) -> Any:
        names = [f"{work.shard.dataset}/{episodes[owner]}" for owner in owners]
        return paid_completions(work.home, stage, model(spec), requests, names, work.budget_id)

    return dict(zip(episodes, run_together(list(askings.values()), complete), strict=True))


def asked_config(spec: str, settings: Any, *prompts: str) -> dict[str, Any]:
    """What decides a model's table, for its key."""
    return {"model": model(spec).name, "settings": settings, "prompts": list(prompts)}


def _steps(work: Work) -> dict[str, list[StepRow]]:
    return steps_by_episode(read_shard(work.home, work.shard, "steps"))


def _noted(counts: list[ReplyCounts]) -> dict[str, Any]:
    """How the replies were, in sum, for the manifest."""
    return {"replies": asdict(sum(counts, start=ReplyCounts()))}


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
        return asked_config(self.spec, self.settings, summary_prompt.digest())

    def derive(self, work: Work) -> Derived:
        tasks = tasks_by_episode(work)
        askings = {e: summarise(tasks[e], rows, self.settings) for e, rows in _steps(work).items()}
        made = ask_episodes(work, self.spec, "summary", askings)
        rows = [{"episode_id": episode, **row} for episode, summary in made.items() for row in summary.rows]
        notes = _noted([summary.counts for summary in made.values()])
        return Derived(pa.Table.from_pylist(rows, schema=schemas.SUMMARIES), notes)


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
        return asked_config(self.spec, self.settings, openie_prompt.digest())

    def derive(self, work: Work) -> Derived:
        askings = {episode: extract_triples(rows, self.settings) for episode, rows in _steps(work).items()}
        made = ask_episodes(work, self.spec, "triples", askings)
        rows = [{"episode_id": episode, **row} for episode, triples in made.items() for row in triples.rows]
        notes = _noted([triples.counts for triples in made.values()])
        return Derived(pa.Table.from_pylist(rows, schema=schemas.TRIPLES), notes)


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
        return {**asked_config(self.spec, self.settings, events_prompt.digest()), "embedder": self.embedder}

    def derive(self, work: Work) -> Derived:
        askings = {episode: extract_events(rows, self.settings) for episode, rows in _steps(work).items()}
        made = ask_episodes(work, self.spec, "events", askings)
        table = embedded_events({episode: events.rows for episode, events in made.items()}, self.embedder)
        return Derived(table, _noted([events.counts for events in made.values()]))


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
        return {**asked_config(self.spec, self.settings, edges_prompt.digest()), "links": self.graph.links}

    def derive(self, work: Work) -> Derived:
        steps = read_shard(work.home, work.shard, "steps")
        graphs = {graph.episode_id: graph for _, graph in self.graph.linked(steps, work.tables["events"])}
        askings = {episode: score_edges(graph, self.settings) for episode, graph in graphs.items()}
        made = ask_episodes(work, self.spec, "edges", askings)
        rows = [{"episode_id": episode, **row} for episode, scores in made.items() for row in scores.rows]
        notes = _noted([scores.counts for scores in made.values()])
        return Derived(pa.Table.from_pylist(rows, schema=EDGES), notes)
