from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from models.metrics.ama_f1 import ama_f1
from models.metrics.exact_match import exact_match


def test_case_punctuation_articles_and_spacing_do_not_count() -> None:
    assert exact_match(" The  Red-Door!", "red door") == 1.0


def test_word_order_counts() -> None:
    assert exact_match("up left", "left up") == 0.0


def test_an_integer_gold_is_its_digits() -> None:
    assert exact_match("2022.", 2022) == 1.0


@given(st.text(), st.text())
def test_an_exact_match_has_full_f1(prediction: str, gold: str) -> None:
    assert exact_match(prediction, gold) <= ama_f1(prediction, gold) + 1e-9


@given(st.text())
def test_every_text_matches_itself(text: str) -> None:
    assert exact_match(text, text) == 1.0
