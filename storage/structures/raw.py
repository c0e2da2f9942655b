"""R: windows of whole turns as they happened, ranked by BM25 (MESA App. A.1).

A build holds every step as text, and the windows as intervals of positions. An access joins the steps of the best windows in
time order, each step once, although windows overlap. A number in the question matches the number of a step only where it
names one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa

from storage.structures.base import BuildInputs, BuiltShard, Evidence, Query
from storage.structures.bm25 import Bm25
from storage.structures.render import render_step, steps_by_episode
from storage.structures.step_refs import explicit_steps
from storage.structures.step_tokens import question_words
from storage.structures.step_words import step_name, step_words
from storage.structures.windows import window_overlap, window_size, windows
from storage.tables import TABLE, read_episode, write_table

WINDOWS = "windows.parquet"

_STEPS = pa.schema([("episode_id", pa.string()), ("step", pa.int64()), ("text", pa.string())])
_WINDOWS = pa.schema([("episode_id", pa.string()), ("start", pa.int64()), ("stop", pa.int64())])


@dataclass(frozen=True)
class RawStructure:
    """Needs no derived table. Actions and observations are cut at `max_chars` characters.

    `parts`, `smallest`, `largest` (turns) and `overlap` (a share) shape the windows; `k1`, `b`, `epsilon` are BM25's.
    """

    max_chars: int = 8_000
    max_windows: int = 3
    parts: int = 12
    smallest: int = 3
    largest: int = 16
    overlap: float = 0.25
    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25

    @property
    def letter(self) -> str:
        return "R"

    @property
    def name(self) -> str:
        return "raw"

    @property
    def version(self) -> int:
        return 2

    @property
    def derives(self) -> tuple[str, ...]:
        return ()

    def build(self, inputs: BuildInputs, out: Path) -> int:
        """Write the steps as text and the windows; return the number of steps."""
        steps: list[dict[str, object]] = []
        spans: list[dict[str, object]] = []
        for episode_id, rows in steps_by_episode(inputs.steps).items():
            for row in rows:
                text = render_step(row, self.max_chars)
                steps.append({"episode_id": episode_id, "step": row.step, "text": text})
            size = window_size(len(rows), self.parts, self.smallest, self.largest)
            for start, stop in windows(len(rows), size, window_overlap(size, self.overlap)):
                spans.append({"episode_id": episode_id, "start": start, "stop": stop})
        write_table(out / WINDOWS, pa.Table.from_pylist(spans, schema=_WINDOWS))
        return write_table(out / TABLE, pa.Table.from_pylist(steps, schema=_STEPS))

    def open(self, shard: BuiltShard, episode_id: str) -> RawIndex:
        """Read one episode and index its windows. `KeyError` when the shard does not hold the episode."""
        steps = read_episode(shard.fs, f"{shard.folder}/{TABLE}", episode_id)
        spans = read_episode(shard.fs, f"{shard.folder}/{WINDOWS}", episode_id)
        return RawIndex(
            steps.column("step").to_pylist(),
            steps.column("text").to_pylist(),
            list(zip(spans.column("start").to_pylist(), spans.column("stop").to_pylist(), strict=True)),
            self,
        )


class RawIndex:
    """One episode's windows: `spans` are (start, stop) positions in `labels` and `texts`."""

    def __init__(
        self, labels: Sequence[int], texts: Sequence[str], spans: Sequence[tuple[int, int]], settings: RawStructure
    ) -> None:
        self._labels, self._texts, self._spans = labels, texts, spans
        self._max_windows = settings.max_windows
        words = [step_words(label, text) for label, text in zip(labels, texts, strict=True)]
        documents = [list(chain.from_iterable(words[start:stop])) for start, stop in spans]
        self._ranking = Bm25(documents, k1=settings.k1, b=settings.b, epsilon=settings.epsilon)

    def access(self, query: Query) -> Evidence:
        """The windows with a positive score, up to `max_windows`; where there is none, the best one, not `localised`."""
        if not query.text.strip():
            return Evidence((), localised=False)
        named = explicit_steps(query.text, self._labels)
        best = self._ranking.top([*question_words(query.text), *map(step_name, named)], self._max_windows)
        positive = [(window, score) for window, score in best if score > 0]
        chosen = positive or best[:1]
        places = sorted({place for window, _ in chosen for place in range(*self._spans[window])})
        return Evidence(
            blocks=tuple(self._texts[place] for place in places),
            steps=tuple(self._labels[place] for place in places),
            scores=tuple(score for _, score in chosen),
            localised=bool(positive),
        )
