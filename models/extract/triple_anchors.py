"""At which step a triple happened (MESA, C.2): extraction asks for no step index, the words of the triple find it.

Every part of a triple is looked for in the blocks of its passage, one block per step. A word counts by how rare it is among
the blocks, so that "cabinet 3" is found where the 3 is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from storage.structures.lexical import tokens
from storage.structures.stems import content_stems

_MIN_ENTITIES = 0.5
"""The share of an entity's words that a block must show, for at least one of the two entities."""

_RELATION_WEIGHT = 0.5
"""A relation's words are the model's own more often than an entity's are."""


class Anchors:
    """The blocks of one passage, to find triples in: the step label of each and its text, in order."""

    def __init__(self, blocks: Sequence[tuple[int, str]]) -> None:
        self._steps = [step for step, _ in blocks]
        self._words = [frozenset(_words(text)) for _, text in blocks]
        self._frequency = Counter(word for words in self._words for word in words)

    def step_of(self, head: str, relation: str, tail: str) -> int | None:
        """The step whose block shows most of the triple, the first of equals; None when none shows an entity of it.

        The triples of a passage that is a single step belong there, whatever their words.
        """
        if len(self._steps) == 1:
            return self._steps[0]
        parts = [dict.fromkeys(_words(text)) for text in (head, tail, relation)]
        best, best_score = None, 0.0
        for step, shown in zip(self._steps, self._words, strict=True):
            ends = [self._share(part, shown) for part in parts[:2]]
            if max(ends) < _MIN_ENTITIES:
                continue
            score = sum(ends) + _RELATION_WEIGHT * self._share(parts[2], shown)
            if score > best_score + 1e-12:
                best, best_score = step, score
        return best

    def _share(self, part: dict[str, None], shown: frozenset[str]) -> float:
        """The share of a part's words, weighted by rarity, that a block shows: in [0, 1]."""
        weights = {word: self._rarity(word) for word in part}
        total = sum(weights.values())
        return sum(weight for word, weight in weights.items() if word in shown) / total if total else 0.0

    def _rarity(self, word: str) -> float:
        return math.log(1 + (len(self._steps) + 1) / (self._frequency[word] + 0.5))


def _words(text: str) -> list[str]:
    """Stems of the content words; all words of a text that has no others (`it`, `up`)."""
    return content_stems(text) or tokens(text)
