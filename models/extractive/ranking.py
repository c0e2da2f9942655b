"""How well the parts of the evidence match a question: overlap of stems, weighted by how few parts hold them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from models.extractive.config import ExtractiveConfig
from models.extractive.units import Unit
from models.extractive.words import stem, stems


class Ranking:
    """The units of one question's evidence with their scores.

    A stem of the question weighs log(1 + N / (df + 0.5)), N units and df of them holding it. A turn of somebody who was not
    asked about counts less, and a turn gets a share of the score of the turn it replies to.
    """

    def __init__(self, question: str, units: Sequence[Unit], config: ExtractiveConfig) -> None:
        self.units = units
        self._config = config
        self._wanted = frozenset(stems(question))
        found = [self._wanted & unit.stems for unit in units]
        df = Counter(word for words in found for word in words)
        self._weights = {word: math.log(1 + len(units) / (0.5 + df[word])) for word in sorted(self._wanted)}
        self._asked = _speakers_in(question, units)
        own = [self._weight(words) for words in found]
        self._scores = [self._in_context(i, own) for i in range(len(units))]
        self._order = sorted(range(len(units)), key=lambda i: (-self._scores[i], i))

    def best(self, n: int) -> list[Unit]:
        """The `n` best units that match at all, best first."""
        return [self.units[i] for i in self._order[:n] if self._scores[i] > 0]

    def score_of(self, unit: Unit) -> float:
        """The score of one of the units, in its context."""
        return self._scores[self.units.index(unit)]

    def score(self, text: str) -> float:
        """The score of any text by itself."""
        return self._weight(self._wanted.intersection(stems(text)))

    def is_wanted(self, word: str) -> bool:
        """Whether the question holds this lower-case word in some form."""
        return stem(word) in self._wanted

    @property
    def coverage(self) -> float:
        """The share of the question's weight that the best unit matches, in [0, 1]. Names of speakers do not count."""
        names = frozenset(stem(unit.speaker.casefold()) for unit in self.units)
        total = self._weight(self._wanted - names)
        best = self.best(1)
        return self._weight((self._wanted & best[0].stems) - names) / total if best and total else 0.0

    def _weight(self, words: frozenset[str]) -> float:
        return math.fsum(self._weights[word] for word in words)

    def _in_context(self, i: int, own: Sequence[float]) -> float:
        unit, score = self.units[i], own[i]
        if not unit.is_turn:
            return score if unit.step is not None else score * self._config.line
        if self._asked and unit.speaker.casefold() not in self._asked:
            score *= self._config.other_speaker
        if i and self.units[i - 1].is_turn:
            score += self._config.reply * own[i - 1]
        return score


def _speakers_in(question: str, units: Sequence[Unit]) -> frozenset[str]:
    """The speakers (case folded) whom the question names."""
    asked = question.casefold()
    return frozenset(name for name in {unit.speaker.casefold() for unit in units if unit.speaker} if name in asked)
