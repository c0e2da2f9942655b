"""The ranker in numpy, for access: the formulas of `ranker.py` and `exchange.py` for one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.router.pool import pool
from storage.structures.event_lookup import EventLookup, lookup
from storage.structures.event_signals import signals
from storage.structures.events import INTENTS, RELATIONS, EventGraph

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

FLOOR = -12.0
"""As in `ranker.py`."""


@dataclass(frozen=True)
class RankedQuestion:
    """The pool of P events for one question: `places` ascending, `slots` (N,) back to the pool (-1 outside), `cosines`,
    values u (`first`) and their log-shares z (P,)."""

    places: Ints
    slots: Ints
    cosines: Floats
    first: Floats
    shares: Floats

    def edges(self, prepared: EventLookup, sources: Ints | None = None) -> tuple[Ints, Ints, Ints]:
        """The edges within the pool, out of some slots only if given: number, source slot and target slot of each."""
        source, target = self.slots[prepared.source], self.slots[prepared.target]
        inside = (source >= 0) & (target >= 0)
        if sources is not None:
            chosen = np.zeros(len(self.places) + 1, dtype=bool)  # the last is for slot -1
            chosen[sources] = True
            inside &= chosen[source]
        number = np.flatnonzero(inside)
        return number, source[number], target[number]


def rank_events(
    parameters: Mapping[str, Floats], graph: EventGraph, text: str, vector: Floats, intent: str, size: int, mix: float
) -> RankedQuestion:
    """The events' own values in a pool of at most `size`."""
    prepared = lookup(graph)
    places = pool(prepared, text, vector, size)
    slots = np.full(len(graph), -1, dtype=np.int64)
    slots[places] = np.arange(len(places))
    found = signals(graph, text, vector, intent)[prepared.order[places]]
    first = _layers(parameters, "events", (found - parameters["mean"]) / parameters["scale"])
    cosines = prepared.vectors[places] @ vector
    return RankedQuestion(places, slots, cosines, first, _log_shares(first + np.float32(mix) * cosines))


def exchanged(parameters: Mapping[str, Floats], prepared: EventLookup, ranked: RankedQuestion) -> Floats:
    """v (P,): the values after what events gain from their neighbours."""
    number, source, target = ranked.edges(prepared)
    columns = [ranked.shares]
    for column in range(len(RELATIONS)):
        strength = prepared.features[number, column]
        held = strength > 0
        reached = np.full(len(ranked.places), FLOOR - 2, dtype=np.float32)
        np.maximum.at(reached, target[held], ranked.shares[source[held]] + np.log(strength[held]))
        columns.append(reached)
    return ranked.first + _layers(parameters, "exchange", np.stack(columns, axis=1) / np.float32(6))


def edge_weights(
    parameters: Mapping[str, Floats], prepared: EventLookup, ranked: RankedQuestion, intent: str, sources: int
) -> Floats:
    """w (E,) by place: of the edges out of the `sources` events with the highest z, 0 elsewhere."""
    weights = np.zeros(len(prepared.source), dtype=np.float32)
    best = np.argsort(-ranked.shares, kind="stable")[:sources]
    number, source, target = ranked.edges(prepared, best)
    asked = np.zeros((len(number), len(INTENTS)), dtype=np.float32)
    asked[:, INTENTS.index(intent)] = 1
    ends = [part[slot] for part in (ranked.shares / -FLOOR, ranked.cosines) for slot in (source, target)]
    likeness = np.einsum("ed,ed->e", prepared.vectors[prepared.source[number]], prepared.vectors[prepared.target[number]])
    columns = np.stack([*ends, likeness], axis=1)
    inputs = np.concatenate([prepared.features[number], asked, columns], axis=1).astype(np.float32)
    weights[number] = softplus(_layers(parameters, "edges", inputs))
    return weights


def softplus(values: Floats) -> Floats:
    """ln(1 + e^x) without overflow."""
    result: Floats = np.logaddexp(np.float32(0), values)
    return result


def _log_shares(values: Floats) -> Floats:
    if not len(values):
        return values
    shifted = values - values.max()
    shares: Floats = np.maximum(shifted - np.log(np.exp(shifted).sum()), np.float32(FLOOR))
    return shares


def _layers(named: Mapping[str, Floats], name: str, inputs: Floats) -> Floats:
    hidden = np.maximum(inputs @ named[f"{name}.first.weight"].T + named[f"{name}.first.bias"], 0)
    result: Floats = (hidden @ named[f"{name}.last.weight"].T + named[f"{name}.last.bias"])[:, 0]
    return result
