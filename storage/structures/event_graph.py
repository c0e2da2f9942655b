"""H: an episode as a graph of events, walked from the events nearest to the question (HAGE, sections 3.2 and 3.3).

A build writes two flat tables per shard, nodes and edges (`event_table.py`); `event_links.py` says what is linked. An access
walks the graph with the router that the question brings, by fixed rules without one, and shows the events it kept:

    [D1:3] 2023-05-08 13:56 (session 1) Caroline: I went to a LGBTQ support group yesterday. (yesterday = 2023-05-07)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.structures.base import BuildInputs, BuiltShard
from storage.structures.event_index import AccessConfig, EventGraphIndex
from storage.structures.event_links import Kind, LinkConfig, link
from storage.structures.event_table import EDGES, EDGES_FILE, NODES_FILE, nodes_schema
from storage.structures.event_walk import WalkConfig
from storage.structures.events import RELATIONS, EventGraph
from storage.structures.render import DIALOGUE, StepRow, cut, step_rows
from storage.structures.temporal import render_dated
from storage.tables import by_episode, read_episode, write_table

PASSAGE = "passage: "
"""Before the title in the action of a passage: an episode of such steps is a set of texts without order or time."""


@dataclass(frozen=True)
class EventGraphStructure:
    """Reads the derived table `events` (`event_table.events_schema`), with `scored` also `edge_scores` (`EDGES`).

    `links` tunes the graph, `walk` the traversal, `access` what of it is shown. An action or observation is cut at
    `max_step_chars` characters.
    """

    links: LinkConfig = field(default_factory=LinkConfig)
    walk: WalkConfig = field(default_factory=WalkConfig)
    access: AccessConfig = field(default_factory=AccessConfig)
    max_step_chars: int = 8_000
    scored: bool = False

    @property
    def letter(self) -> str:
        return "H"

    @property
    def name(self) -> str:
        return "event-graph"

    @property
    def version(self) -> int:
        return 1

    @property
    def derives(self) -> tuple[str, ...]:
        return ("events", "edge_scores") if self.scored else ("events",)

    def build(self, inputs: BuildInputs, out: Path) -> int:
        """Link every episode and write its nodes and edges; return the number of rows of both tables.

        `ValueError` names the episode and the step that has no event, or the edge whose score is not in [0, 1].
        """
        events = inputs.derived["events"]
        scores = dict(by_episode(inputs.derived["edge_scores"])) if self.scored else {}
        nodes, edges = [_nodes_schema(events).empty_table()], [EDGES.empty_table()]  # a shard may be empty
        for table, graph in self.linked(inputs.steps, events):
            nodes.append(table)
            known = scores.get(graph.episode_id)
            edges.append(_edge_table(graph if known is None else with_scores(graph, known)))
        return write_table(out / NODES_FILE, pa.concat_tables(nodes)) + write_table(
            out / EDGES_FILE, pa.concat_tables(edges)
        )

    def linked(self, steps: pa.Table, events: pa.Table) -> Iterator[tuple[pa.Table, EventGraph]]:
        """Each episode's nodes as a table, and its graph as the rules link it: what edge scores are asked about."""
        found = dict(by_episode(events))
        for episode_id, part in by_episode(steps):
            rows = step_rows(part)
            table = self._nodes(rows, part, found.get(episode_id, events.slice(0, 0)), _nodes_schema(events))
            yield table, link(_graph(episode_id, table), kind_of(rows), self.links)

    def _nodes(self, rows: Sequence[StepRow], steps: pa.Table, events: pa.Table, schema: pa.Schema) -> pa.Table:
        """The rows of one episode joined to its events by step."""
        labels = steps.column("step").combine_chunks()
        order = pc.index_in(labels, events.column("step").combine_chunks())
        if order.null_count:
            step, episode_id = labels.filter(order.is_null())[0], steps.column("episode_id")[0].as_py()
            raise ValueError(f"step {step} of episode {episode_id!r} has no event: derive the events again")
        taken = events.take(order)
        columns = {
            **{name: steps.column(name) for name in ("episode_id", "step", "speaker", "session", "ref")},
            **{name: taken.column(name) for name in ("content", "entities", "vector")},
            "timestamp": steps.column("timestamp").cast(pa.timestamp("us")),
            "text": pa.array([render_event(row, self.max_step_chars) for row in rows], pa.string()),
        }
        return pa.table({name: columns[name] for name in schema.names}).cast(schema)

    def open(self, shard: BuiltShard, episode_id: str) -> EventGraphIndex:
        """Read one episode's graph, once per process. `KeyError` when the shard does not hold it."""
        return EventGraphIndex(_read(shard, episode_id), self.walk, self.access)


def _nodes_schema(events: pa.Table) -> pa.Schema:
    return nodes_schema(events.schema.field("vector").type.list_size)


def kind_of(rows: Sequence[StepRow]) -> Kind:
    """What the steps of an episode are, which decides the relations that exist among its events."""
    if all(row.action == DIALOGUE for row in rows):
        return "conversation"
    return "passages" if all(row.action.startswith(PASSAGE) for row in rows) else "trajectory"


def render_event(row: StepRow, max_chars: int) -> str:
    """A step as evidence: a passage with its title, any other step as structure T shows it."""
    if row.action.startswith(PASSAGE):
        return f"[{row.action.removeprefix(PASSAGE)}] {cut(row.observation, max_chars)}"
    return render_dated(row, max_chars)


def with_scores(graph: EventGraph, scores: pa.Table) -> EventGraph:
    """`graph` with the features of the edges that `scores` (`EDGES`, one episode) speaks of replaced by its numbers.

    A score of an edge that the rules do not make is ignored: scores outlive a change of the rules' thresholds.
    `ValueError` names an edge with a number outside [0, 1].
    """
    values = np.stack([scores.column(r).to_numpy().astype(np.float32) for r in RELATIONS], axis=1)
    ends = np.stack([scores.column(name).to_numpy() for name in ("source", "target")], axis=1)
    wrong = ~np.all((values >= 0) & (values <= 1), axis=1)
    if wrong.any():
        source, target = ends[wrong.argmax()]
        raise ValueError(f"episode {graph.episode_id!r}: the edge {source} -> {target} has a score outside [0, 1]")
    row_of = {(int(s), int(t)): i for i, (s, t) in enumerate(ends)}
    features = graph.features.copy()
    for i, edge in enumerate(zip(graph.steps[graph.source].tolist(), graph.steps[graph.target].tolist(), strict=True)):
        if edge in row_of:
            features[i] = values[row_of[edge]]
    return replace(graph, features=features)


def counts(shard: BuiltShard) -> dict[str, Any]:
    """The size of a built shard: `nodes`, `edges`, and `edges_per_relation` (an edge counts for each relation it has)."""
    tables = {}
    for name, columns in ((NODES_FILE, ["episode_id"]), (EDGES_FILE, list(RELATIONS))):
        with shard.fs.open(f"{shard.folder}/{name}", "rb") as file:
            tables[name] = pq.read_table(file, columns=columns)
    edges = tables[EDGES_FILE]
    per_relation = {r: int(np.count_nonzero(edges.column(r).to_numpy())) for r in RELATIONS}
    return {"nodes": tables[NODES_FILE].num_rows, "edges": edges.num_rows, "edges_per_relation": per_relation}


@lru_cache(maxsize=16)
def _read(shard: BuiltShard, episode_id: str) -> EventGraph:
    """A built graph. Artifacts never change, so what was read once stays right."""
    nodes = _graph(episode_id, read_episode(shard.fs, f"{shard.folder}/{NODES_FILE}", episode_id))
    try:
        edges = read_episode(shard.fs, f"{shard.folder}/{EDGES_FILE}", episode_id)
    except KeyError:  # an episode of one event has no edges
        return nodes
    ends = [np.searchsorted(nodes.steps, edges.column(name).to_numpy()).astype(np.int32) for name in ("source", "target")]
    features = np.stack([edges.column(r).to_numpy() for r in RELATIONS], axis=1)
    return replace(nodes, source=ends[0], target=ends[1], features=features)


def _graph(episode_id: str, nodes: pa.Table) -> EventGraph:
    """An episode's nodes (`nodes_schema`, sorted by step) as a graph without edges."""
    stamps = nodes.column("timestamp").cast(pa.int64()).to_numpy().astype(np.float64)  # a null becomes NaN
    vectors = nodes.column("vector").combine_chunks()
    return EventGraph(
        episode_id,
        steps=nodes.column("step").to_numpy(),
        texts=tuple(nodes.column("text").to_pylist()),
        contents=tuple(nodes.column("content").to_pylist()),
        speakers=tuple(name or "" for name in nodes.column("speaker").to_pylist()),
        sessions=nodes.column("session").fill_null(-1).to_numpy(),
        seconds=stamps / 1e6,
        entities=tuple(tuple(names) for names in nodes.column("entities").to_pylist()),
        refs=tuple(ref or "" for ref in nodes.column("ref").to_pylist()),
        vectors=vectors.flatten().to_numpy().reshape(len(vectors), vectors.type.list_size),
        source=np.zeros(0, np.int32),
        target=np.zeros(0, np.int32),
        features=np.zeros((0, len(RELATIONS)), np.float32),
    )


def _edge_table(graph: EventGraph) -> pa.Table:
    columns = {
        "episode_id": pa.array([graph.episode_id] * len(graph.source), pa.string()),
        "source": graph.steps[graph.source],
        "target": graph.steps[graph.target],
        **{r: graph.features[:, i] for i, r in enumerate(RELATIONS)},
    }
    return pa.table(columns, schema=EDGES)
