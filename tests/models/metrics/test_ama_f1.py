from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.metrics.ama_f1 import ama_f1, normalised_words


def test_punctuation_separates_and_articles_go_but_and_stays() -> None:
    assert normalised_words("The key-value store, and A cache") == ["key", "value", "store", "and", "cache"]


def test_words_are_not_stemmed() -> None:
    assert ama_f1("cats", "cat") == 0.0


def test_repeats_count() -> None:
    assert ama_f1("left left up", "left up") == pytest.approx(2 * (2 / 3) * 1 / (2 / 3 + 1))


def test_two_empty_texts_agree_and_one_empty_text_scores_0() -> None:
    assert ama_f1("", "the") == 1.0
    assert ama_f1("", "step 4") == 0.0
    assert ama_f1("step 4", "...") == 0.0


def test_an_integer_gold_is_its_digits() -> None:
    assert ama_f1("2022", 2022) == 1.0


def test_a_japanese_answer_gets_part_of_the_score() -> None:
    assert 0.0 < ama_f1("箱を開けた。", "赤い箱を開けた") < 1.0


@given(st.text(), st.text())
def test_scores_are_symmetric_and_between_0_and_1(first: str, second: str) -> None:
    assert 0.0 <= ama_f1(first, second) <= 1.0
    assert ama_f1(first, second) == pytest.approx(ama_f1(second, first))


@given(st.text())
def test_every_text_agrees_with_itself(text: str) -> None:
    assert ama_f1(text, text) == pytest.approx(1.0)
