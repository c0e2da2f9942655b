"""What the benchmarks read: AMA-Bench where STRATA_DATA_DIR or ../shared/data holds it, else generated BabyAI episodes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from storage.corpora import CORPORA
from storage.corpora.base import ReadReport


@dataclass(frozen=True)
class Source:
    """A data set and what `strata ingest` reads it from: a file, or the settings of a generator."""

    dataset: str
    source: str

    @property
    def episodes(self) -> int:
        """How many episodes it holds."""
        return sum(1 for _ in CORPORA[self.dataset].read(self.source, ReadReport()))


def find_source() -> Source:
    """AMA-Bench, or BabyAI when its file is not there."""
    folder = Path(os.environ.get("STRATA_DATA_DIR", Path(__file__).parents[3] / "shared" / "data"))
    file = folder / "ama_bench" / "open_end_qa_set.jsonl"
    return Source("ama-bench", str(file)) if file.exists() else Source("babyai", "episodes=48")
