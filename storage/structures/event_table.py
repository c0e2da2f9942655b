"""The tables of the event graph: what extractors and edge scorers hand over, and what a build writes."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from storage.structures.events import RELATIONS

NODES_FILE = "nodes.parquet"
EDGES_FILE = "edges.parquet"


class EventRow(NamedTuple):
    """One event as an extractor makes it: the label of its step, what is embedded (never empty), normalised entities."""

    step: int
    content: str
    entities: tuple[str, ...]


def events_schema(dimension: int) -> pa.Schema:
    """The derived table `events` of one encoder: every row an `EventRow` with its L2-normalised float32 vector of
    `dimension` numbers, an episode's rows together."""
    return pa.schema(
        [
            ("episode_id", pa.string()),
            ("step", pa.int64()),
            ("content", pa.string()),
            ("entities", pa.list_(pa.string())),
            ("vector", pa.list_(pa.float32(), dimension)),
        ]
    )


def nodes_schema(dimension: int) -> pa.Schema:
    """A build's nodes: one row per event, an episode's in step order. `timestamp` is UTC without a zone."""
    return pa.schema(
        [
            ("episode_id", pa.string()),
            ("step", pa.int64()),
            ("text", pa.string()),
            ("content", pa.string()),
            ("speaker", pa.string()),
            ("session", pa.int64()),
            ("timestamp", pa.timestamp("us")),
            ("entities", pa.list_(pa.string())),
            ("ref", pa.string()),
            ("vector", pa.list_(pa.float32(), dimension)),
        ]
    )


EDGES = pa.schema(
    [("episode_id", pa.string()), ("source", pa.int64()), ("target", pa.int64()), *((r, pa.float32()) for r in RELATIONS)]
)
"""A build's edges: `source` and `target` are labels of steps, a strength in [0, 1] per relation.

The optional derived table `edge_scores` has the same columns (HAGE, Eq. 6): what a model says of an edge. It is kept by edge
and never by question, so that it is paid for once."""
