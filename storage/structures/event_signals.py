"""What tells the evidence of a question from other events: one row of numbers per event, for training and for access alike.

    signals(graph, "When did Caroline paint the lake?", vector, "temporal")  # float32, shape (N, len(SIGNALS))

Four scores of an event (cosine; BM25 of its words, of its stems, and of the stems around it), how they compare within the
episode, those of its neighbours in time, in its session and along edges, how much of the question it covers, who speaks, and
whether it fits what is asked. Only the question, its vector and the graph are read: gold evidence has no way in.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from storage.structures.event_lookup import EventLookup, Floats, lookup
from storage.structures.event_ranking import fuse, plain_scores, ranked
from storage.structures.events import EventGraph
from storage.structures.lexical import tokens
from storage.structures.stems import content_stems

_TINY = 1e-6
_BEST = 10

_SCORES = ("dense", "plain", "stemmed", "surrounding")
_SPREAD = ("dense", "stemmed")
"""The scores that are also read at an event's neighbours."""

SIGNALS = (
    *(f"{score}_{form}" for score in _SCORES for form in ("value", "deviation", "rank")),
    *(
        f"{score}_{where}"
        for score in _SPREAD
        for where in ("before", "after", "before_2", "after_2", "at_3", "session_best", "session_mean", "semantic", "entity")
    ),
    *("session", "covered", "covered_1", "covered_2", "rarest", "question_terms"),
    *("speaker_named", "nobody_named", "all_named", "length", "asks", "answers"),
    *("near_best", "near_second", "named", "any_named", "temporal", "told", "told_asked", "counts_asked"),
)
"""The columns, in order."""


def signals(graph: EventGraph, text: str, vector: NDArray[np.float32], intent: str) -> NDArray[np.float32]:
    """The signals of every event, (N, F) in the order of the graph's events; `vector` (d,) is the question's embedding.

    Deterministic; a permutation of the events permutes the rows. `ValueError` for a vector of another size than the graph's.
    """
    prepared = lookup(graph)
    if vector.shape != prepared.vectors.shape[1:]:
        raise ValueError(
            f"{graph.episode_id}: the question's vector is {vector.shape}, events have {prepared.vectors.shape[1:]}"
        )
    columns = dict(_columns(prepared, text, vector, intent))
    values = np.empty((len(graph), len(SIGNALS)), dtype=np.float32)
    values[prepared.order] = np.stack([columns[name] for name in SIGNALS], axis=1)
    return values


def _columns(prepared: EventLookup, text: str, vector: NDArray[np.float32], intent: str) -> Iterator[tuple[str, Floats]]:
    raw = plain_scores(prepared, text, vector)
    ranks = {name: ranked(values) for name, values in raw.items()}
    for name, values in raw.items():
        yield f"{name}_value", values if name == "dense" else values / (values.max(initial=0) + _TINY)
        yield f"{name}_deviation", _deviation(values)
        yield f"{name}_rank", 1 / np.sqrt(ranks[name])
    yield from _spread("dense", _deviation(raw["dense"]), prepared)
    yield from _spread("stemmed", raw["stemmed"] / (raw["stemmed"].max(initial=0) + _TINY), prepared)
    by_session = prepared.by_session.scores(content_stems(text))[prepared.sessions]
    yield "session", by_session / (by_session.max(initial=0) + _TINY)
    yield from _coverage(prepared, text)
    yield from _people(prepared, text)
    yield from _closeness(prepared, fuse([raw[name] for name in ("dense", "stemmed", "surrounding")]))
    yield from _fitting(prepared, text, intent)


def _deviation(values: Floats) -> Floats:
    """Standard deviations from the mean, halved so that most lie in [-1, 1]."""
    deviations: Floats = (values - values.mean()) / (values.std() + _TINY) / 2
    return deviations


def _spread(name: str, values: Floats, prepared: EventLookup) -> Iterator[tuple[str, Floats]]:
    """A score at the neighbours of every event: in time, in its session, along similar and same-entity edges."""
    near = prepared.neighbours
    yield f"{name}_before", near(values, 1)
    yield f"{name}_after", near(values, -1)
    yield f"{name}_before_2", near(values, 2)
    yield f"{name}_after_2", near(values, -2)
    yield f"{name}_at_3", np.maximum(near(values, 3), near(values, -3))
    best = np.full(prepared.by_session.size, -np.inf)
    np.maximum.at(best, prepared.sessions, values)
    yield f"{name}_session_best", best[prepared.sessions]
    means = np.bincount(prepared.sessions, values) / np.bincount(prepared.sessions)
    yield f"{name}_session_mean", means[prepared.sessions]
    for relation in ("semantic", "entity"):
        source, target = prepared.related[relation]
        reached = np.zeros(len(prepared))
        np.maximum.at(reached, target, values[source])
        yield f"{name}_{relation}", reached


def _coverage(prepared: EventLookup, text: str) -> Iterator[tuple[str, Floats]]:
    """How much of the question's terms, weighted by rarity, an event holds alone and together with its neighbours.

    Names of speakers are no terms: they stand in every other event.
    """
    names = frozenset(stem for speaker in prepared.names for stem in content_stems(speaker))
    terms = [term for term in dict.fromkeys(content_stems(text)) if term in prepared.postings and term not in names]
    weights = [prepared.rarity(term) for term in terms]
    alone, near, around, rarest = (np.zeros(len(prepared)) for _ in range(4))
    for term, weight in zip(terms, weights, strict=True):
        held = np.zeros(len(prepared))
        held[prepared.postings[term]] = weight / sum(weights)
        alone += held
        held = np.maximum.reduce([held, prepared.neighbours(held, 1), prepared.neighbours(held, -1)])
        near += held
        around += np.maximum.reduce([held, prepared.neighbours(held, 2), prepared.neighbours(held, -2)])
        if weight == max(weights):
            rarest[prepared.postings[term]] = 1
    yield "covered", alone
    yield "covered_1", near
    yield "covered_2", around
    yield "rarest", rarest
    yield "question_terms", np.full(len(prepared), len(terms) / 6)


def _people(prepared: EventLookup, text: str) -> Iterator[tuple[str, Floats]]:
    """Whether the question names who speaks, nobody who speaks in the episode, or everybody; and the form of an event."""
    asked = frozenset(tokens(text))
    speaker = np.array([not asked.isdisjoint(words) for words in prepared.speakers], dtype=np.float64)
    yield "speaker_named", speaker
    yield "nobody_named", np.full(len(prepared), float(not speaker.any()))
    yield "all_named", np.full(len(prepared), float(speaker.all()))
    yield "length", prepared.lengths / 4
    yield "asks", prepared.asks
    yield "answers", prepared.neighbours(prepared.asks, 1)


def _closeness(prepared: EventLookup, fused: Floats) -> Iterator[tuple[str, Floats]]:
    """Cosines of every event with the ten best of a fused ranking: their mean, and the second highest."""
    best = np.argsort(-fused, kind="stable")[:_BEST]
    cosines = (prepared.vectors @ prepared.vectors[best].T).astype(np.float64)
    yield "near_best", cosines.mean(axis=1)
    yield "near_second", np.sort(cosines, axis=1)[:, -min(2, len(best))]


def _fitting(prepared: EventLookup, text: str, intent: str) -> Iterator[tuple[str, Floats]]:
    """Dates, steps and numbers: those that the question names, and those that it asks for."""
    named, temporal = prepared.named(text), float(intent == "temporal")
    yield "named", named
    yield "any_named", np.full(len(prepared), float(named.any()))
    yield "temporal", np.full(len(prepared), temporal)
    yield "told", prepared.told
    yield "told_asked", prepared.told * temporal
    yield "counts_asked", prepared.counts * float("how many" in text.casefold() or "how often" in text.casefold())
