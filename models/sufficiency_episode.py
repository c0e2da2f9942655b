"""An episode as the sufficiency loop sees it: T's evidence, the names by which a model asks for steps, the steps as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from models.prompts.sufficiency import Ask
from models.step_search import SearchConfig, encode_steps, search_steps
from storage.structures.base import EpisodeIndex, Evidence, Query
from storage.structures.render import DIALOGUE, StepRow


@dataclass(frozen=True)
class CheckedEpisode:
    """T's index of one episode, and its steps in order. Keep it to check many questions; `search` bounds programs."""

    index: EpisodeIndex
    rows: Sequence[StepRow]
    search: SearchConfig = field(default_factory=SearchConfig)

    @cached_property
    def by_reference(self) -> bool:
        """Whether the evidence names steps by reference (`D1:3`), not by number."""
        return bool(self.rows) and all(row.action == DIALOGUE and row.ref for row in self.rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each step in order, as the evidence shows it."""
        return tuple(str(row.ref) if self.by_reference else str(row.step) for row in self.rows)

    def evidence(self, question: str, extra_steps: Sequence[int], searches: Sequence[str]) -> Evidence:
        """T's evidence with `extra_steps`, after the results of searches: a composer cuts at the end."""
        found = self.index.access(Query(question, extra_steps=tuple(extra_steps)))
        if not searches:
            return found
        return Evidence((*searches, *found.blocks), found.steps, found.scores, localised=True)

    def steps_of(self, ask: Ask, max_around: int) -> list[int]:
        """Labels of the steps that an ask names, with at most `max_around` before and after; none if it names none here."""
        start, stop = self._bounds(ask.first, ask.last)
        if start >= stop:
            return []
        first = max(start - min(ask.before, max_around), 0)
        return [row.step for row in self.rows[first : stop + min(ask.after, max_around)]]

    def run(self, program: str) -> str:
        """What a program finds in the steps, run in the sandbox. `SearchError` says why it found nothing."""
        return search_steps(program, self._encoded, self.search)

    def _bounds(self, first: str, last: str) -> tuple[int, int]:
        """Positions [start, stop) from one name to another, in either order; numbers may lie outside of the episode."""
        places = [self._places.get(name.casefold()) for name in (first, last)]
        known = [place for place in places if place is not None]
        if len(known) == 2:
            return min(known), max(known) + 1
        if not (first.isdecimal() and last.isdecimal()):
            return 0, 0
        low, high = sorted((int(first), int(last)))
        inside = [at for at, row in enumerate(self.rows) if low <= row.step <= high]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where the step of a name is. A number finds its step in conversations too."""
        numbered = {str(row.step): at for at, row in enumerate(self.rows)}
        return numbered | {name.casefold(): at for at, name in enumerate(self.names)}

    @cached_property
    def _encoded(self) -> str:
        return encode_steps(self.rows, self.search)
