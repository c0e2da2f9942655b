"""Trained weights at rest: one safetensors file with the arrays and, as JSON in its metadata, everything needed to use them.

No pickle: a file from elsewhere can only hold numbers and text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.router.learner import Arrays, TrainingState
from storage.structures.event_lookup import EventLookup

HEADER = "strata.router"
"""The name of the JSON in the file's metadata."""

VERSION = 1


class WeightsError(ValueError):
    """Weights that cannot be read, or that were made for other signals, relations or embeddings than this code's."""


@dataclass(frozen=True)
class RouterWeights:
    """The weights of one training. `arrays` are named `router/...` (`query_router.py`), `ranker/...` (`ranker.py`) and
    `edges/<episode id>` (E, 4), the learned features of a training graph by place; `header` is plain JSON.

    The header holds `preset`, `mode`, `mix`, `dimension` of the embeddings, `signals`, `relations`, `intents`, the ranker's
    `pool` and `sources`, and `graphs`: for each training graph a digest that tells whether it is still the same.
    """

    header: Mapping[str, Any]
    arrays: Arrays = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """16 hex digits that change when any weight or setting does."""
        found = hashlib.sha256(json.dumps(self.header, sort_keys=True).encode())
        for name in sorted(self.arrays):
            found.update(f"{name}{self.arrays[name].shape}".encode())
            found.update(np.ascontiguousarray(self.arrays[name], dtype="<f4").tobytes())
        return found.hexdigest()[:16]

    def part(self, prefix: str) -> Arrays:
        """The arrays under `prefix/`, by the rest of their names; empty when there are none."""
        start = f"{prefix}/"
        return {name.removeprefix(start): array for name, array in self.arrays.items() if name.startswith(start)}


def graph_digest(prepared: EventLookup) -> str:
    """What learned edge features belong to: the steps of a graph and which of them are linked."""
    found = hashlib.sha256()
    for part in (prepared.steps, prepared.source, prepared.target):
        found.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
    return found.hexdigest()[:16]


def dump_weights(weights: RouterWeights) -> bytes:
    """One safetensors file: the arrays, and the header as JSON in its metadata."""
    return _dump(weights.arrays, {"version": VERSION, **weights.header})


def load_weights(data: bytes) -> RouterWeights:
    """What `dump_weights` wrote. `WeightsError` says why it is not that."""
    header, arrays = _load(data)
    return RouterWeights(header, arrays)


def dump_state(state: TrainingState) -> bytes:
    """A training's state as one safetensors file."""
    groups = {"current": state.current, "best": state.best, "finished": state.finished}
    arrays = {f"{group}/{name}": array for group, part in groups.items() for name, array in part.items()}
    return _dump(arrays, {"version": VERSION, **state.header()})


def load_state(data: bytes) -> TrainingState:
    """What `dump_state` wrote. `WeightsError` says why it is not that."""
    header, found = _load(data)
    arrays: dict[str, Arrays] = {"current": {}, "best": {}, "finished": {}}
    try:
        for key, array in found.items():
            group, _, name = key.partition("/")
            arrays[group][name] = array
        return TrainingState.from_parts(header, arrays)
    except (KeyError, TypeError) as error:
        raise WeightsError(f"no state of a router training ({error}): delete it to start over") from error


def _dump(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> bytes:
    from safetensors.numpy import save

    whole = {name: np.array(arrays[name], order="C") for name in sorted(arrays)}
    return bytes(save(whole, {HEADER: json.dumps(header, sort_keys=True)}))


def _load(data: bytes) -> tuple[dict[str, Any], Arrays]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = dict(load(data))
        size = int.from_bytes(data[:8], "little")
        header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][HEADER])
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"not a file of router weights ({error}): train the router again") from error
    if header.pop("version", None) != VERSION:
        raise WeightsError("router weights of another version of Strata: train the router again")
    return header, arrays
