"""What a corpus reader promises, and the report it fills while reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from storage.records import Episode


class CorpusError(ValueError):
    """A source that cannot be read at all. The message names the file (and line) and says what to do."""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """One record that was left out: where it stands (`line` is 1-based, 0 when the file has no lines) and why."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


@dataclass(slots=True)
class ReadReport:
    """Filled by a reader while its iterator is consumed.

    `warnings` counts what was repaired or kept as it is, by a short snake_case name (`unresolved_evidence_refs`);
    `bad_records` are the records that could not be read and were left out.
    """

    warnings: Counter[str] = field(default_factory=Counter)
    bad_records: list[BadRecord] = field(default_factory=list)


class Corpus(Protocol):
    """A reader of one data set. Implementations are stateless frozen dataclasses whose fields are the reader's settings."""

    @property
    def name(self) -> str:
        """The data set's name: the key in `CORPORA`, `Episode.dataset` and the command line's word."""
        ...

    def read(self, source: str | None, report: ReadReport) -> Iterator[Episode]:
        """Yield the episodes of `source` (a file, a folder, or None: the pinned download or the generator), one at a time.

        Memory stays bounded by one episode for line-based formats. A record that cannot be read goes to
        `report.bad_records` and the reading goes on; `CorpusError` only when nothing can be read.
        """
        ...
