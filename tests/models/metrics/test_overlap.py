from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.metrics.overlap import bag_f1, words

BAGS = st.lists(st.sampled_from("abcd"), max_size=8)


def test_latin_text_is_split_at_white_space_only() -> None:
    assert words("l’été café_1  naïve—test \U0001f600") == ["l’été", "café_1", "naïve—test", "\U0001f600"]


def test_a_chinese_sentence_becomes_character_pairs() -> None:
    assert words("今天天气") == ["今天", "天天", "天气"]


def test_arabic_words_lose_their_own_punctuation() -> None:
    assert words("هل ذهب؟") == ["هل", "ذهب"]


@pytest.mark.parametrize("sentence", ["ภาษาไทยง่าย", "東京タワーへ行った", "ភាសាខ្មែរ", "我们昨天去了北京"])
def test_a_sentence_without_spaces_is_never_one_token(sentence: str) -> None:
    assert len(words(sentence)) > 1


def test_repeats_count_once_per_partner() -> None:
    assert bag_f1(["a", "a", "b"], ["a"]) == pytest.approx(2 * (1 / 3) / (1 / 3 + 1))


@given(BAGS, BAGS)
def test_f1_is_symmetric_and_between_0_and_1(first: list[str], second: list[str]) -> None:
    score = bag_f1(first, second)
    assert 0.0 <= score <= 1.0
    assert score == pytest.approx(bag_f1(second, first))


@given(BAGS.flatmap(lambda bag: st.tuples(st.just(bag), st.permutations(bag))))
def test_order_does_not_matter(bags: tuple[list[str], list[str]]) -> None:
    bag, shuffled = bags
    assert bag_f1(bag, shuffled) == (1.0 if bag else 0.0)
