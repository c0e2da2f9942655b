"""What language model calls cost: one line per call, whoever made it, for what stage, in which run.

Unlike a journal it holds no text, so it may be shared, and it counts failed calls too. Each process appends to a segment of
its own.

    {"stage": "answer", "model": "openai:Qwen/Qwen3-32B", "run": "9f0c...", "status": "ok", "prompt_tokens": 912, ...}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from storage.artifacts import Home
from storage.segments import SegmentWriter, read_segments

FOLDER = "ledger"


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls of one stage and model in sum. `cached_tokens` are part of `prompt_tokens`; `errors` of `calls`."""

    stage: str
    model: str
    calls: int = 0
    errors: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def plus(self, other: Spent) -> Spent:
        """The sum of two; stage and model are this one's."""
        numbers = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)[2:]}
        return replace(self, **numbers)


class Ledger:
    """The ledger of a home. Safe to use from threads; a torn last line of a killed process is skipped."""

    def __init__(self, home: Home):
        self._home = home
        self._writer = SegmentWriter(home, FOLDER)

    def add(self, spent: Spent, run: str = "") -> None:
        """Write one call, made by the run with this id."""
        self._writer.append({**asdict(spent), "run": run})

    def totals(self, run: str | None = None) -> list[Spent]:
        """What was spent by stage and model, in that order; of one run, or of all."""
        lines = read_segments(self._home, FOLDER)
        return summed(_spent(line) for line in lines if run is None or line.get("run") == run)


def summed(calls: Iterable[Spent]) -> list[Spent]:
    """Calls in sum by stage and model, in that order."""
    found: dict[tuple[str, str], Spent] = {}
    for call in calls:
        key = (call.stage, call.model)
        found[key] = found[key].plus(call) if key in found else call
    return [found[key] for key in sorted(found)]


def _spent(line: dict[str, Any]) -> Spent:
    return Spent(**{f.name: line[f.name] for f in fields(Spent) if f.name in line})
