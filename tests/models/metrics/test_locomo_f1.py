from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.metrics.locomo_f1 import locomo_f1, stems

CATEGORIES = {"1": "multi_hop", "2": "temporal", "3": "open_domain", "4": "single_hop", "5": "adversarial"}


@pytest.mark.data
def test_the_official_scores_of_1540_real_answers_are_reproduced(data_dir: Path) -> None:
    saved = json.loads((data_dir / "locomo" / "full_context_gpt-4o-mini_answers.json").read_text(encoding="utf-8"))
    scores = defaultdict(list)
    for item in (item for items in saved["detailed_results"].values() for item in items):
        capability = CATEGORIES[item["category"]]
        scores[capability].append(locomo_f1(item["generated_answer"], item["golden_answer"], capability))
    every = [score for group in scores.values() for score in group]
    assert len(every) == 1540
    assert round(sum(every) / len(every), 4) == 0.5224
    assert {name: round(sum(group) / len(group), 4) for name, group in scores.items()} == {
        "multi_hop": 0.3785,
        "temporal": 0.4776,
        "open_domain": 0.3079,
        "single_hop": 0.6122,
    }


def test_case_punctuation_articles_and_endings_do_not_count() -> None:
    assert stems("The cats, and a DOG's running!") == ["cat", "dog", "run"]


def test_a_comma_joins_what_it_stood_between() -> None:
    assert stems("1,000 a,b") == ["1000", "ab"]


def test_an_answer_that_says_more_loses_precision() -> None:
    assert locomo_f1("He bought two red cars", "red car", "single_hop") == pytest.approx(2 * 0.4 * 1 / 1.4)


def test_open_domain_keeps_the_gold_before_its_first_semicolon() -> None:
    assert locomo_f1("Yes", "Yes; since he likes dogs; and cats", "open_domain") == 1.0
    assert locomo_f1("Yes", "Yes; since he likes dogs", "single_hop") < 1.0


def test_multi_hop_takes_the_best_predicted_part_for_each_gold_part() -> None:
    assert locomo_f1("painting, pottery", "pottery, hiking", "multi_hop") == pytest.approx(0.5)
    assert locomo_f1("pottery, hiking", "pottery, hiking", "temporal") == 1.0


def test_multi_hop_cuts_dates_at_their_comma_as_the_official_rule_does() -> None:
    assert locomo_f1("7 May", "7 May, 2023", "multi_hop") == pytest.approx(0.5)


@pytest.mark.parametrize("answer", ["No information available.", "That is NOT MENTIONED here"])
def test_an_adversarial_question_is_won_by_abstaining(answer: str) -> None:
    assert locomo_f1(answer, "anything", "adversarial") == 1.0


@pytest.mark.parametrize("answer", ["a trophy", "", "I do not know"])
def test_an_adversarial_question_is_lost_by_any_other_answer(answer: str) -> None:
    assert locomo_f1(answer, "a trophy", "adversarial") == 0.0


def test_an_integer_gold_is_its_digits() -> None:
    assert locomo_f1("in 2022", 2022, "temporal") == pytest.approx(2 / 3)
    assert locomo_f1("2022", 2022, "multi_hop") == 1.0


def test_a_chinese_answer_gets_part_of_the_score() -> None:
    assert 0.0 < locomo_f1("她昨天去了北京", "昨天去了上海", "single_hop") < 1.0


@pytest.mark.parametrize("capability", CATEGORIES.values())
@pytest.mark.parametrize("gold", ["", ",", ";", "the"])
def test_empty_texts_score_0_unless_they_abstain(gold: str, capability: str) -> None:
    assert locomo_f1("", gold, capability) == 0.0


@given(st.text(), st.text(), st.sampled_from(sorted(CATEGORIES.values())))
def test_every_text_scores_between_0_and_1(prediction: str, gold: str, capability: str) -> None:
    assert 0.0 <= locomo_f1(prediction, gold, capability) <= 1.0


@given(st.text(), st.text())
def test_plain_f1_is_symmetric(first: str, second: str) -> None:
    assert locomo_f1(first, second, "single_hop") == pytest.approx(locomo_f1(second, first, "single_hop"))
