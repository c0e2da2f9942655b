"""The sparse BM25 against the library whose formula it follows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from storage.structures.bm25 import Bm25

TOKENS = st.sampled_from("the cat sat on mat dog ran far away 12".split())
DOCUMENTS = st.lists(st.lists(TOKENS, max_size=12), min_size=1, max_size=12).filter(any)


@given(DOCUMENTS, st.lists(TOKENS | st.just("unseen"), max_size=8))
def test_scores_equal_rank_bm25(documents: list[list[str]], query: list[str]) -> None:
    expected = BM25Okapi(documents).get_scores(query)
    np.testing.assert_allclose(Bm25(documents).scores(query), expected, rtol=0, atol=1e-9)


@given(DOCUMENTS, st.lists(TOKENS, max_size=5), st.floats(0, 3), st.floats(0, 0.95), st.floats(0, 1))
def test_scores_equal_rank_bm25_for_any_setting(
    documents: list[list[str]], query: list[str], k1: float, b: float, epsilon: float
) -> None:
    if k1 < 1e-300:
        k1 = 0.1  # k1 (1 - b) may underflow to 0; rank-bm25 then divides 0 by 0 for a document without the token
    expected = BM25Okapi(documents, k1=k1, b=b, epsilon=epsilon).get_scores(query)
    np.testing.assert_allclose(Bm25(documents, k1=k1, b=b, epsilon=epsilon).scores(query), expected, rtol=1e-9, atol=1e-9)


def test_a_term_in_most_documents_gets_the_floor_of_epsilon_times_the_mean_idf() -> None:
    documents = [["the", "cat"], ["the", "dog"], ["the", "mat"], ["fish"]]
    scores = Bm25(documents).scores(["the"])
    assert scores[0] > 0
    assert scores[3] == 0


@pytest.mark.parametrize("documents", [[], [[]], [[], []]], ids=str)
def test_a_corpus_without_tokens_scores_nothing(documents: list[list[str]]) -> None:
    index = Bm25(documents)
    assert index.scores(["cat"]).tolist() == [0.0] * len(documents)
    assert len(index.top(["cat"], 3)) == len(documents)


def test_an_empty_document_among_others_scores_zero() -> None:
    assert Bm25([["cat"], [], ["dog", "dog"]]).scores(["cat", "dog"])[1] == 0


def test_top_is_best_first_and_breaks_ties_by_place() -> None:
    index = Bm25([["dog"], ["cat"], ["fish"], ["cat"], ["bird"]])
    best = index.top(["cat"], 3)
    assert [place for place, _ in best] == [1, 3, 0]
    assert best[0][1] == best[1][1] > best[2][1] == 0
    assert index.top(["cat"], 0) == []
