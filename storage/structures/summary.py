"""S: the summary of an episode, always read whole (MESA, Appendix A.1 and prompt C.1).

    memory_summary: key_turns=2, 3; key_objective=...; key_events=...
    turn_id: 2
    env_state:
    - action: go to sinkbasin 1

A summary that keeps this layout is read as one block per key turn; any other text as one block per paragraph.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from storage import schemas
from storage.structures.base import BuildInputs, BuiltShard, Evidence, Query
from storage.tables import TABLE, by_episode, read_episode, write_table

_MARKER = re.compile(r"^\W*STATE_MEMORY\W*$", re.MULTILINE)
"""The line after which the paper's prompt asks for the summary; a reply may repeat it."""

_TURN = re.compile(
    r"^[ \t>*#`-]*turn[ _]id[*`\"]*[ \t]*[:=][ \t]*[*`\"<]*[ \t]*(?P<ids>\d[\d ,\t–-]*)", re.IGNORECASE | re.MULTILINE
)
"""The head of a key turn's block, with the marks that models put around it. `ids` may be a list or a range."""

_PARAGRAPH = re.compile(r"\n\s*\n")
_RANGE = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")


@dataclass(frozen=True)
class SummaryStructure:
    """Reads the derived table `summary` (`schemas.SUMMARIES`), one row per segment of an episode."""

    @property
    def letter(self) -> str:
        return "S"

    @property
    def name(self) -> str:
        return "summary"

    @property
    def version(self) -> int:
        return 1

    @property
    def derives(self) -> tuple[str, ...]:
        return ("summary",)

    def build(self, inputs: BuildInputs, out: Path) -> int:
        """Write the shard's segments in time order. An episode whose summary failed is kept as one empty segment."""
        found: dict[str, list[dict[str, object]]] = {}
        for row in inputs.derived["summary"].to_pylist():
            found.setdefault(row["episode_id"], []).append(row)
        rows: list[dict[str, object]] = []
        for episode_id, steps in by_episode(inputs.steps):
            labels = steps.column("step")
            empty = {
                "episode_id": episode_id,
                "segment": 0,
                "first_step": labels[0].as_py(),
                "last_step": labels[-1].as_py(),
                "text": "",
            }
            rows.extend(sorted(found.get(episode_id, [empty]), key=lambda row: int(str(row["segment"]))))
        return write_table(out / TABLE, pa.Table.from_pylist(rows, schema=schemas.SUMMARIES))

    def open(self, shard: BuiltShard, episode_id: str) -> SummaryIndex:
        """Read one episode's segments. `KeyError` when the shard does not hold the episode."""
        return SummaryIndex(_evidence(read_episode(shard.fs, f"{shard.folder}/{TABLE}", episode_id)))


@dataclass(frozen=True, slots=True)
class SummaryIndex:
    """One episode's summary: the same evidence for every question."""

    evidence: Evidence

    def access(self, query: Query) -> Evidence:
        """The whole summary. It does not look at the question."""
        return self.evidence


def _evidence(segments: pa.Table) -> Evidence:
    blocks: list[str] = []
    steps: dict[int, None] = {}
    for segment in segments.to_pylist():
        blocks.extend(summary_blocks(segment["text"]))
        shown = summary_turns(segment["text"], segment["first_step"], segment["last_step"])
        steps.update(dict.fromkeys(shown))
    return Evidence(tuple(blocks), tuple(steps), localised=bool(blocks))


def summary_blocks(text: str) -> list[str]:
    """A summary as blocks: what stands before the first `turn_id`, then one per key turn; or its paragraphs."""
    text = _MARKER.split(text)[-1]
    starts = [match.start() for match in _TURN.finditer(text)]
    if not starts:
        return [part.strip() for part in _PARAGRAPH.split(text) if part.strip()]
    bounds = [0, *starts, len(text)]
    parts = (text[a:b].strip() for a, b in pairwise(bounds))
    return [part for part in parts if part]


def summary_turns(text: str, first_step: int, last_step: int) -> list[int]:
    """The distinct step labels that a summary's blocks are about, in reading order.

    A label outside of the segment (`first_step` to `last_step`) was made up by the writer and is left out.
    """
    labels: dict[int, None] = {}
    for match in _TURN.finditer(text):
        for first, last in _RANGE.findall(match["ids"]):
            start, stop = max(int(first), first_step), min(int(last or first), last_step)
            labels.update(dict.fromkeys(range(start, stop + 1)))
    return list(labels)
