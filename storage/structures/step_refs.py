"""Which steps a question names: "steps 12–17", "between Step 6 and Step 22", "until step 40", "the last three turns".

`step_grammar.py` reads the references (MESA App. A.1, access of the temporal store); here they meet the episode's labels.
Nothing is invented: a label that does not exist is dropped, a range is cut to the episode.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from storage.structures.step_grammar import Grammar, Span
from storage.structures.step_ordinals import Slice
from storage.structures.step_tokens import KEYWORDS


@dataclass(frozen=True, slots=True)
class StepReferences:
    """What a question says about steps, before the episode is known.

    `exact` are the labels that are written, `spans` intervals of labels, `slices` intervals of positions.
    """

    exact: frozenset[int]
    spans: frozenset[Span]
    slices: frozenset[Slice]

    def named(self, labels: Sequence[int]) -> tuple[int, ...]:
        """The steps named one by one that exist (numbers, ends of ranges, ordinals): ascending, without repeats."""
        ordered = sorted(set(labels))
        counted = (ordered[start:stop] for start, stop in self.slices)
        return tuple(sorted(self.exact.intersection(ordered).union(*counted)))

    def resolve(self, labels: Sequence[int]) -> tuple[int, ...]:
        """Every step that is named and exists, members of ranges, prefixes and suffixes too: ascending, no repeats."""
        ordered = sorted(set(labels))
        chosen = set(self.named(ordered))
        for low, high in _merged(self.spans):
            start = 0 if low is None else bisect_left(ordered, low)
            stop = len(ordered) if high is None else bisect_right(ordered, high)
            chosen.update(ordered[start:stop])
        return tuple(sorted(chosen))


def parse_steps(question: str, keywords: Set[str] = KEYWORDS) -> StepReferences:
    """Read the references of a question: numbers and ordinals beside one of the `keywords`. Never raises; linear time."""
    grammar = Grammar(question, keywords)
    return StepReferences(frozenset(grammar.exact), frozenset(grammar.spans), frozenset(grammar.slices))


def resolve_steps(question: str, labels: Sequence[int]) -> tuple[int, ...]:
    """The labels that `question` names and that exist: ascending, without repeats. Labels may have gaps and any start."""
    return parse_steps(question).resolve(labels)


def explicit_steps(question: str, labels: Sequence[int]) -> tuple[int, ...]:
    """The steps that `question` names one by one and that exist, without the members of ranges and prefixes."""
    return parse_steps(question).named(labels)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """The same steps in few spans, so that a question that repeats itself stays cheap."""
    merged: list[Span] = []
    for low, high in sorted(spans, key=lambda span: (span[0] is not None, span[0] or 0)):
        if merged:
            first, last = merged[-1]
            if last is None or low is None or low <= last + 1:
                merged[-1] = (first, None if last is None or high is None else max(last, high))
                continue
        merged.append((low, high))
    return merged
