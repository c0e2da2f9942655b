"""A question's intent by a model, by the rules where its reply is of no use."""

from __future__ import annotations

from models.extract.llm_intent import IntentConfig, classify_intents
from models.extract.replies import ReplyCounts
from tests.models.played import in_order, play


def test_each_question_gets_a_word_of_the_list() -> None:
    questions = ["Why did it fail?", "When did they meet?", "Hm?"]
    script = in_order('{"intent": "entity"}', "it depends", "general", '{"intent": "no such"}')
    made = play(classify_intents(questions, IntentConfig()), script).result
    assert made.words == ["entity", "temporal", "general"]
    assert made.counts == ReplyCounts(requests=3, retried=1, unparsable=1, fallbacks=1)


def test_no_questions_ask_nothing() -> None:
    assert play(classify_intents([], IntentConfig()), in_order()).result.words == []
