"""Okapi BM25 exactly as `rank_bm25.BM25Okapi` 0.2.2 scores it, but prepared once as sparse term weights.

score(d, q) = sum over tokens t of q:  idf(t) * f(t, d) * (k1 + 1) / (f(t, d) + k1 * (1 - b + b * |d| / avgdl))
idf(t) = ln(N - n(t) + 0.5) - ln(n(t) + 0.5); where that is negative: epsilon * the mean idf of all terms.

A token that is repeated in the query counts each time. Unlike rank-bm25, empty corpora and empty documents are fine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np


class Bm25:
    """An index over `documents`, each a sequence of tokens."""

    def __init__(
        self, documents: Sequence[Sequence[str]], *, k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25
    ) -> None:
        self.size = len(documents)
        self._terms: dict[str, int] = {}
        terms, places, frequencies = self._count(documents)
        lengths = np.array([len(document) for document in documents], dtype=np.float64)
        average = max(float(lengths.mean()), 1.0 / self.size) if self.size else 1.0  # no division by 0 when all are empty
        norms = k1 * (1 - b + b * lengths / average)
        idfs = self._idfs(np.bincount(terms, minlength=len(self._terms)), epsilon)
        order = np.argsort(terms, kind="stable")
        terms, self._places, f = terms[order], places[order], frequencies[order].astype(np.float64)
        self._weights = idfs[terms] * (f * (k1 + 1) / (f + norms[self._places]))
        self._starts = np.searchsorted(terms, np.arange(len(self._terms) + 1))

    def _count(self, documents: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One entry per document and distinct token: token number, document, frequency. Numbers the tokens on the way."""
        terms: list[int] = []
        frequencies: list[int] = []
        distinct = []
        for document in documents:
            counts = Counter(document)
            terms.extend([self._terms.setdefault(token, len(self._terms)) for token in counts])
            frequencies.extend(counts.values())
            distinct.append(len(counts))
        places = np.repeat(np.arange(self.size), np.array(distinct, dtype=np.int64))
        return np.array(terms, dtype=np.int64), places, np.array(frequencies, dtype=np.int64)

    def _idfs(self, document_counts: np.ndarray, epsilon: float) -> np.ndarray:
        if not document_counts.size:
            return np.zeros(0)
        idfs = np.log(self.size - document_counts + 0.5) - np.log(document_counts + 0.5)
        return np.where(idfs < 0, epsilon * idfs.mean(), idfs)

    def scores(self, query: Sequence[str]) -> np.ndarray:
        """The score of every document for the tokens of a query, float64, shape (number of documents,)."""
        totals = np.zeros(self.size)
        for token in query:
            if (term := self._terms.get(token)) is not None:
                entries = slice(self._starts[term], self._starts[term + 1])
                totals[self._places[entries]] += self._weights[entries]
        return totals

    def top(self, query: Sequence[str], k: int) -> list[tuple[int, float]]:
        """The `k` best documents as (index, score), best first, equal scores by lowest index."""
        totals = self.scores(query)
        return [(int(i), float(totals[i])) for i in np.argsort(-totals, kind="stable")[: max(k, 0)]]
