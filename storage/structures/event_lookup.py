"""What of an event graph is prepared once so that every question is quick: inverted indexes, sessions, dates, relations.

Everything here is in step order, whatever order the graph's arrays have: neighbours in time are neighbours by label. So a
graph whose events are permuted gives the same numbers, permuted; `EventLookup.order` leads back.
"""

from __future__ import annotations

import re
import weakref
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from storage.structures.bm25 import Bm25
from storage.structures.events import RELATIONS, EventGraph
from storage.structures.lexical import STOP_WORDS, tokens
from storage.structures.relative_dates import resolve_relative
from storage.structures.render import StepRow
from storage.structures.stems import content_stems
from storage.structures.step_refs import resolve_steps
from storage.structures.time_refs import Calendar

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WINDOW = 2
"""The surroundings of an event: this many events before and after it, of the same session."""

_QUESTION = re.compile(r"[?\uff1f\u061f\u037e]")
_COUNT = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|once|twice|couple|dozen)\b", re.IGNORECASE)


class EventLookup:
    """One graph of N events, prepared. It holds no reference to the graph, so that it can be forgotten with it.

    `order` (N,): position in the graph of the event at each place; every other array is by place. `vectors` (N, d);
    `sessions` (N,) numbers from 0, one for all events without a session; `lengths`, `asks`, `counts`, `told` (N,): how long
    an event is, and whether it asks something, names a number, or names a date relative to its own.
    """

    def __init__(self, graph: EventGraph) -> None:
        self.order: Ints = np.argsort(graph.steps, kind="stable")
        self.steps: Ints = graph.steps[self.order]
        self.vectors = np.ascontiguousarray(graph.vectors[self.order])
        self.sessions: Ints = np.unique(graph.sessions[self.order], return_inverse=True)[1]
        contents = [graph.contents[i] for i in self.order]
        self._index_words(contents)
        self._index_times(graph, contents)
        self._index_edges(graph)
        self.names = sorted(set(graph.speakers))
        self.speakers = [frozenset(tokens(graph.speakers[i])) - STOP_WORDS for i in self.order]
        self.asks = _found(_QUESTION, contents)
        self.counts = _found(_COUNT, contents)

    def __len__(self) -> int:
        return len(self.order)

    def neighbours(self, values: Floats, distance: int) -> Floats:
        """`values` (N,) of the event `distance` places before each one (after it, if negative); 0 outside its session."""
        shifted = np.zeros_like(values)
        if distance == 0 or abs(distance) >= len(values):
            return shifted if distance else values
        to, source = slice(distance, None), slice(None, -distance)
        if distance < 0:
            to, source = slice(None, distance), slice(-distance, None)
        same = self.sessions[to] == self.sessions[source]
        shifted[to] = np.where(same, values[source], 0)
        return shifted

    def named(self, question: str) -> Floats:
        """1 for every event whose step, date or session the question names, else 0: (N,)."""
        labels = set(resolve_steps(question, self._labels))
        if self._calendar is not None:
            labels.update(self._calendar.resolve(question))
        found = np.zeros(len(self))
        found[np.searchsorted(self.steps, sorted(labels))] = 1
        return found

    def rarity(self, term: str) -> float:
        """ln(1 + N / (events with the term + 1/2))."""
        return float(np.log(1 + len(self) / (len(self.postings.get(term, ())) + 0.5)))

    def _index_words(self, contents: Sequence[str]) -> None:
        words = [tokens(text) for text in contents]
        stems = [content_stems(text) for text in contents]
        self.plain, self.stemmed = Bm25(words), Bm25(stems)
        self.surrounding = Bm25([list(chain.from_iterable(stems[j] for j in self._around(i))) for i in range(len(stems))])
        by_session: dict[int, list[str]] = defaultdict(list)
        postings: dict[str, list[int]] = defaultdict(list)
        for i, (session, found) in enumerate(zip(self.sessions.tolist(), stems, strict=True)):
            by_session[session].extend(found)
            for term in dict.fromkeys(found):
                postings[term].append(i)
        self.by_session = Bm25([by_session[session] for session in range(len(by_session))])
        self.postings = {term: np.array(places) for term, places in postings.items()}
        self.lengths: Floats = np.log1p([len(found) for found in words])

    def _around(self, i: int) -> list[int]:
        near = range(max(0, i - WINDOW), min(len(self), i + WINDOW + 1))
        return [j for j in near if self.sessions[j] == self.sessions[i]]

    def _index_times(self, graph: EventGraph, contents: Sequence[str]) -> None:
        seconds = graph.seconds[self.order].tolist()
        times = [None if second != second else datetime.fromtimestamp(second, UTC) for second in seconds]
        sessions = [None if session < 0 else session for session in graph.sessions[self.order].tolist()]
        self._labels = self.steps.tolist()
        rows = [
            StepRow(step, "", text, None, session, time, None)
            for step, text, session, time in zip(self._labels, contents, sessions, times, strict=True)
        ]
        self._calendar = Calendar.of(rows)
        told = [
            t is not None and bool(list(resolve_relative(text, t.date()))) for text, t in zip(contents, times, strict=True)
        ]
        self.told: Floats = np.array(told, dtype=np.float64)

    def _index_edges(self, graph: EventGraph) -> None:
        """`edge_order` (E,): position in the graph of each edge, here by place of source, then of target."""
        place = np.empty(len(graph), dtype=np.int64)
        place[self.order] = np.arange(len(graph))
        source, target = place[graph.source], place[graph.target]
        self.edge_order: Ints = np.lexsort((target, source))
        self.source: Ints = source[self.edge_order]
        self.target: Ints = target[self.edge_order]
        self.features = graph.features[self.edge_order]
        self.starts: Ints = np.searchsorted(self.source, np.arange(len(self) + 1))
        holds = [self.features[:, column] > 0 for column in range(len(RELATIONS))]
        self.related = {name: (self.source[held], self.target[held]) for name, held in zip(RELATIONS, holds, strict=True)}


_LOOKUPS: dict[int, tuple[weakref.ref[EventGraph], EventLookup]] = {}


def lookup(graph: EventGraph) -> EventLookup:
    """The prepared form of `graph`, made at first use and kept as long as the graph lives."""
    key = id(graph)
    kept = _LOOKUPS.get(key)
    if kept is not None and kept[0]() is graph:
        return kept[1]
    prepared = EventLookup(graph)
    _LOOKUPS[key] = (weakref.ref(graph, lambda _: _LOOKUPS.pop(key, None)), prepared)
    return prepared


def _found(pattern: re.Pattern[str], texts: Sequence[str]) -> Floats:
    """1 for every text in which `pattern` occurs, else 0."""
    return np.array([pattern.search(text) is not None for text in texts], dtype=np.float64)
