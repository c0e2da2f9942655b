"""T: the steps that a question names, in order (MESA App. A.1, temporal store).

Steps are named by number (`step_refs.py`), in conversations also by date and session (`time_refs.py`), or asked for by the
sufficiency checker (`Query.extra_steps`). Where nothing is named, words decide: the best steps by BM25.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from storage.structures.base import BuildInputs, BuiltShard, Evidence, Query
from storage.structures.bm25 import Bm25
from storage.structures.duck import query_parquet
from storage.structures.relative_dates import resolve_relative
from storage.structures.render import StepRow, render_step, steps_by_episode
from storage.structures.step_refs import parse_steps
from storage.structures.step_tokens import question_words
from storage.structures.step_words import step_words
from storage.structures.time_refs import Calendar
from storage.tables import TABLE, write_table

_SCHEMA = pa.schema(
    [
        ("episode_id", pa.string()),
        ("step", pa.int64()),
        ("ref", pa.string()),
        ("session", pa.int64()),
        ("timestamp", pa.timestamp("us")),  # UTC without a zone, so that no reader moves it to the local one
        ("text", pa.string()),
    ]
)
_EPISODE = "SELECT step, ref, session, timestamp, text FROM $file WHERE episode_id = ? ORDER BY step"


@dataclass(frozen=True)
class TemporalStructure:
    """Needs no derived table. Actions and observations are cut at `max_chars` characters.

    At most `max_steps` named steps are shown. Where nothing is named, the `fallback_steps` best by words are, or only their
    keys without `fallback_contents` (the paper's configuration).
    """

    max_chars: int = 8_000
    max_steps: int = 64
    fallback_steps: int = 5
    fallback_contents: bool = True

    @property
    def letter(self) -> str:
        return "T"

    @property
    def name(self) -> str:
        return "temporal"

    @property
    def version(self) -> int:
        return 2

    @property
    def derives(self) -> tuple[str, ...]:
        return ()

    def build(self, inputs: BuildInputs, out: Path) -> int:
        """Write every step as text with what it can be found by; return the number of steps."""
        rows = [
            {
                "episode_id": episode_id,
                "step": row.step,
                "ref": row.ref,
                "session": row.session,
                "timestamp": row.timestamp.replace(tzinfo=None) if row.timestamp else None,
                "text": render_dated(row, self.max_chars),
            }
            for episode_id, steps in steps_by_episode(inputs.steps).items()
            for row in steps
        ]
        return write_table(out / TABLE, pa.Table.from_pylist(rows, schema=_SCHEMA))

    def open(self, shard: BuiltShard, episode_id: str) -> TemporalIndex:
        """Read one episode. `KeyError` when the shard does not hold it."""
        path = f"{shard.folder}/{TABLE}"
        found = query_parquet(shard.fs, path, _EPISODE, episode_id)
        if not found:
            raise KeyError(f"episode {episode_id!r} is not in {path}")
        rows = [StepRow(step, "", text, None, session, at, ref) for step, ref, session, at, text in found]
        return TemporalIndex(rows, self)


def render_dated(row: StepRow, max_chars: int) -> str:
    """A step as text; a dated turn with its relative dates resolved: "... last week. (last week = 2023-05-01 to ...)"."""
    text = render_step(row, max_chars)
    if row.timestamp is None:
        return text
    found = resolve_relative(row.observation[:max_chars], row.timestamp.date())
    return f"{text} ({'; '.join(map(str, found))})" if found else text


class TemporalIndex:
    """One episode's steps. In `rows`, in order of their labels, `observation` is the whole step as text."""

    def __init__(self, rows: Sequence[StepRow], settings: TemporalStructure) -> None:
        self._rows = {row.step: row for row in rows}
        self._labels = tuple(self._rows)
        self._settings = settings
        self._calendar = Calendar.of(rows)

    def access(self, query: Query) -> Evidence:
        """The named steps in order. Too many: single steps first, then those of long ranges that match the question best."""
        references = parse_steps(query.text)
        single = [*references.named(self._labels), *(step for step in query.extra_steps if step in self._rows)]
        wanted = {*single, *references.resolve(self._labels)}
        if self._calendar is not None:
            wanted.update(self._calendar.resolve(query.text))
        if not wanted:
            return self._by_words(query.text)
        shown = sorted(self._capped(list(dict.fromkeys(single)), wanted, query.text))
        left_out = len(wanted) - len(shown)
        note = f"[The question names {len(wanted)} steps: {left_out} of them are left out here, {len(shown)} are shown.]"
        return Evidence((*([note] if left_out else []), *self._texts(shown)), tuple(shown))

    def _capped(self, single: Sequence[int], wanted: set[int], question: str) -> list[int]:
        room = self._settings.max_steps
        if len(wanted) <= room:
            return list(wanted)
        rest = wanted.difference(single)
        scores = self._ranking.scores(question_words(question))
        best = sorted(rest, key=lambda step: (-scores[self._places[step]], step))
        return [*single, *best][:room]

    def _by_words(self, question: str) -> Evidence:
        best = self._ranking.top(question_words(question), self._settings.fallback_steps)
        positive = {self._labels[place]: score for place, score in best if score > 0}
        shown = sorted(positive)
        scores = tuple(positive.values())
        if self._settings.fallback_contents:
            return Evidence(tuple(self._texts(shown)), tuple(shown), scores, localised=bool(shown))
        return Evidence(tuple(self._key(step) for step in shown), (), scores, localised=bool(shown))

    def _texts(self, steps: Iterable[int]) -> list[str]:
        return [self._rows[step].observation for step in steps]

    def _key(self, step: int) -> str:
        ref = self._rows[step].ref
        return f"[{ref}]" if ref else f"Step {step}"

    @cached_property
    def _ranking(self) -> Bm25:
        return Bm25([step_words(row.step, row.observation) for row in self._rows.values()])

    @cached_property
    def _places(self) -> dict[int, int]:
        return {step: place for place, step in enumerate(self._labels)}
