from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.metrics.support import SupportGold, distinct_tokens, support
from storage.structures import lexical


def test_only_what_the_answer_adds_to_the_question_counts() -> None:
    assert support("Step 4: opened the red door", "Which door did the agent open?", "The red door") == 1.0


def test_the_share_of_answer_tokens_in_the_evidence_is_the_score() -> None:
    assert support("a red box", "What is it?", "red velvet box, 1986") == pytest.approx(2 / 4)


def test_an_answer_that_repeats_the_question_has_no_support() -> None:
    assert support("anything", "Did the agent open the door?", "the door") is None
    assert support("anything", "Is it so?", "") is None


def test_an_integer_gold_is_its_digits() -> None:
    assert support("in 2022 she moved", "When?", 2022) == 1.0


def test_the_union_of_token_sets_gives_the_support_of_a_subset() -> None:
    gold = SupportGold.of("What did she buy?", "vinyl and a lamp")
    first, second = distinct_tokens("a lamp"), distinct_tokens("some vinyl")
    assert gold.share(first) == pytest.approx(0.5)
    assert gold.share(first | second) == 1.0
    assert gold.share(frozenset()) == 0.0


def test_chinese_evidence_supports_part_of_an_answer() -> None:
    assert 0.0 < (support("她昨天去了北京", "她去了哪里?", "北京大学") or 0.0) < 1.0


@given(st.text())
def test_the_quick_token_set_equals_the_lexical_tokens(text: str) -> None:
    assert distinct_tokens(text) == frozenset(lexical.tokens(text))


@given(st.text(), st.text(), st.text(), st.text())
def test_more_evidence_never_lowers_support(question: str, gold: str, first: str, second: str) -> None:
    few, many = support(first, question, gold), support(f"{first} {second}", question, gold)
    if few is None or many is None:
        assert few is many
    else:
        assert 0.0 <= few <= many <= 1.0
