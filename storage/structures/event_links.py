"""The edges of an event graph by rule, without a language model (HAGE, section 3.2; the public code's turn mode).

A rule looks at an event and at earlier ones, never at later ones. So the edges among old events never change when an episode
grows: `extend` adds the edges of the new events and gives, number for number, what linking all events at once gives.

- temporal, both ways: an event and the `window` ones before it that are at most `max_gap_hours` away, and in any case the
  one before it, also across sessions. Strength `1/distance`, halved when a day lies between, a third after two days, ...
- semantic, both ways: an event and the `neighbours` most similar before it (`event_neighbours.py`). Strength: the cosine.
- causal, forward only. Conversation: a turn and the reply of the other speaker; 1 after a question, else `response`.
  Trajectory: a step and the next one, 1 if they concern the same thing, else `effect`; and a step that reports trouble and
  the next one that concerns the same thing, an attempt to do better, 1.
- entity, both ways: an event and the `entity_links` earlier ones that share the rarest entities with it. Strength: how rare.

Passages have no order: they get no temporal and no causal edges. Several relations between two events are one edge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from storage.structures.event_neighbours import Pairs, entity_pairs, semantic_pairs
from storage.structures.events import RELATIONS, EventGraph

Kind = Literal["conversation", "trajectory", "passages"]
"""What an episode's events are: it decides which relations exist."""

_HOUR = 3_600.0
_QUESTION = re.compile(r"[?\uff1f\u061f\u037e]")
_TROUBLE = re.compile(
    r"error|exception|traceback|fail|not found|no such|invalid|denied|cannot|can't|unable to|nothing happens|refused"
    r"|timed out|exit code [1-9]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class LinkConfig:
    """Thresholds of the rules. `one_hot` is the paper's initialisation without scores: every relation that holds is 1.

    A passage set is small and unordered, so each of its events looks at up to `passage_neighbours` others. Of an episode
    with more events, an event looks for similar ones among the `horizon` before it. An entity that more than `hub_share` of
    the events so far mention (and more than `min_hub`) links nothing.
    """

    window: int = 2
    max_gap_hours: float = 24.0
    neighbours: int = 3
    min_cosine: float = 0.3
    horizon: int = 8_192
    passage_neighbours: int = 32
    response: float = 0.5
    effect: float = 0.5
    attempt_reach: int = 20
    entity_links: int = 2
    mentions: int = 4
    min_hub: int = 8
    hub_share: float = 0.02
    one_hot: bool = False


class Added(NamedTuple):
    """Directed pairs of one relation with their strengths: positions (M,) and float32 (M,)."""

    relation: str
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    strength: NDArray[np.float32]


def extend(graph: EventGraph, events: EventGraph, kind: Kind, config: LinkConfig) -> EventGraph:
    """`graph` with `events`, nodes without edges whose steps come after its own, linked among themselves and to it.

    The edges of `graph` stay as they are, also where scores replaced features. Extending an empty graph links an episode.
    `ValueError` when the events are of another episode, not after those of the graph, or of another encoder.
    """
    nodes = _joined(graph, events)
    first = len(graph)
    added = [*_rules(nodes, first, kind, config)]
    source, target, features = _merged(len(nodes), added, config.one_hot)
    source, target = np.concatenate([graph.source, source]), np.concatenate([graph.target, target])
    features = np.concatenate([graph.features, features])
    order = np.lexsort((target, source))
    return replace(nodes, source=source[order], target=target[order], features=features[order])


def link(events: EventGraph, kind: Kind, config: LinkConfig) -> EventGraph:
    """The graph of one episode from its nodes, in step order."""
    return extend(head(events, 0), events, kind, config)


def head(graph: EventGraph, count: int) -> EventGraph:
    """The first `count` events, and the edges among them."""
    inside = (graph.source < count) & (graph.target < count)
    per_node = {name: getattr(graph, name)[:count] for name in PER_EVENT}
    edges = {name: getattr(graph, name)[inside] for name in ("source", "target", "features")}
    return EventGraph(graph.episode_id, **per_node, **edges)


PER_EVENT = ("steps", "texts", "contents", "speakers", "sessions", "seconds", "entities", "refs", "vectors")
"""The fields of an `EventGraph` that hold one value per event."""


def _joined(graph: EventGraph, events: EventGraph) -> EventGraph:
    if graph.episode_id != events.episode_id:
        raise ValueError(f"events of episode {events.episode_id!r} cannot extend the graph of {graph.episode_id!r}")
    if graph.vectors.shape[1] != events.vectors.shape[1]:
        sizes = f"{graph.vectors.shape[1]} and {events.vectors.shape[1]}"
        raise ValueError(f"episode {graph.episode_id!r}: the vectors have {sizes} numbers: of two encoders?")
    steps = np.concatenate([graph.steps, events.steps])
    if np.any(np.diff(steps) <= 0):
        raise ValueError(f"episode {graph.episode_id!r}: new steps must come after step {steps[len(graph) - 1]}, in order")
    joined: dict[str, Any] = {}
    for name in PER_EVENT:
        old, new = getattr(graph, name), getattr(events, name)
        joined[name] = old + new if isinstance(old, tuple) else np.concatenate([old, new])
    return replace(events, **joined)


def _rules(nodes: EventGraph, first: int, kind: Kind, config: LinkConfig) -> list[Added]:
    """What every relation adds for the events from position `first` on."""
    added: list[Added] = []
    k = config.passage_neighbours if kind == "passages" else config.neighbours
    if kind != "passages":
        added += _both_ways("temporal", _temporal(nodes, first, config))
        causal = _replies if kind == "conversation" else _effects
        pairs = causal(nodes, first, config)
        added.append(Added("causal", pairs.earlier, pairs.later, pairs.strength))
    added += _both_ways("semantic", semantic_pairs(nodes.vectors, first, k, config.min_cosine, config.horizon))
    found = entity_pairs(nodes.entities, first, config.entity_links, config.mentions, config.min_hub, config.hub_share)
    added += _both_ways("entity", found)
    return added


def _both_ways(relation: str, pairs: Pairs) -> list[Added]:
    return [
        Added(relation, pairs.earlier, pairs.later, pairs.strength),
        Added(relation, pairs.later, pairs.earlier, pairs.strength),
    ]


def _temporal(nodes: EventGraph, first: int, config: LinkConfig) -> Pairs:
    """Neighbours in the episode, also across sessions; within the window those that are close in time."""
    found = []
    for distance in range(1, config.window + 1):
        later = np.arange(max(first, distance), len(nodes))
        earlier = later - distance
        hours = np.abs(nodes.seconds[later] - nodes.seconds[earlier]) / _HOUR
        together = np.isnan(hours) & (nodes.sessions[later] == nodes.sessions[earlier])
        kept = (hours <= config.max_gap_hours) | together | (distance == 1)
        strength = 1 / distance / (1 + np.nan_to_num(hours, nan=0.0) / 24)
        found.append(Pairs(earlier[kept], later[kept], strength[kept].astype(np.float32)))
    return Pairs.joined(found)


def _replies(nodes: EventGraph, first: int, config: LinkConfig) -> Pairs:
    """A turn and the other speaker's next turn in the same session: the answer to a question, or a response."""
    later = np.arange(max(first, 1), len(nodes))
    speakers = np.array(nodes.speakers, dtype=object)
    replies = (speakers[later] != speakers[later - 1]) & (nodes.sessions[later] == nodes.sessions[later - 1])
    later = later[replies]
    asks = np.array([_QUESTION.search(nodes.contents[i - 1]) is not None for i in later], dtype=bool)
    return Pairs(later - 1, later, np.where(asks, 1, config.response).astype(np.float32))


def _effects(nodes: EventGraph, first: int, config: LinkConfig) -> Pairs:
    """A step and the next one, and a step that reports trouble and the next attempt at what it was about."""
    things = [frozenset(names) for names in nodes.entities[max(first - config.attempt_reach, 0) :]]
    offset = len(nodes) - len(things)
    pairs: dict[tuple[int, int], float] = {}
    for later in range(max(first, 1), len(nodes)):
        same = not things[later - offset].isdisjoint(things[later - 1 - offset])
        pairs[later - 1, later] = 1.0 if same else config.effect
    for failed in range(offset, len(nodes) - 1):
        if _TROUBLE.search(nodes.contents[failed]) is None:
            continue
        reach = range(failed + 1, min(failed + 1 + config.attempt_reach, len(nodes)))
        attempt = next((j for j in reach if not things[failed - offset].isdisjoint(things[j - offset])), -1)
        if attempt >= first:
            pairs[failed, attempt] = 1.0
    return Pairs.of(pairs)


def _merged(
    size: int, added: list[Added], one_hot: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """One edge for all relations between two events, its features in the order of `RELATIONS`."""
    keys = np.concatenate([a.source * size + a.target for a in added])
    edges, row = np.unique(keys, return_inverse=True)
    column = np.repeat([RELATIONS.index(a.relation) for a in added], [len(a.source) for a in added])
    strength = np.concatenate([a.strength for a in added])
    features = np.zeros((len(edges), len(RELATIONS)), dtype=np.float32)
    np.maximum.at(features, (row, column), np.float32(1) if one_hot else np.clip(strength, 0, 1))
    return (edges // size).astype(np.int32), (edges % size).astype(np.int32), features
