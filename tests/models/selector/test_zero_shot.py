"""What a language model is asked to choose, and what its replies are taken for."""

from __future__ import annotations

import pytest

from models.llm.chat import Completion
from models.prompts import choose
from models.prompts.choose import ChoiceError
from models.selector.contract import Case
from models.selector.zero_shot import request, selection

CONTEXT = {"task": "find the key", "domain": "GAME", "structures": ["S", "T"], "previews": {"T": {"n_tokens": 3}}}
CASE = Case("toy/e/0", "Where was the key at step 3?", CONTEXT)


def test_the_prompt_shows_the_question_last_and_the_previews() -> None:
    text = request(CASE, "ST").messages[0].content
    assert text.endswith(CASE.question)
    assert '"n_tokens": 3' in text
    assert "- T: temporal" in text
    assert "- V:" not in text


def test_the_schema_allows_only_the_structures_at_hand() -> None:
    schema = request(CASE, "ST").schema
    assert schema is not None
    assert schema["properties"]["structures"]["items"]["enum"] == ["S", "T"]


@pytest.mark.parametrize(
    "reply",
    ['{"structures": ["T", "S", "T"]}', '<think>{"structures": ["S"]}</think>\n```json\n{"structures": ["T","S"]}\n```'],
)
def test_structures_come_once_and_in_the_fixed_order(reply: str) -> None:
    assert selection(Completion(reply), "ST").subset == "S+T"


@pytest.mark.parametrize(
    "reply", ["", "T", "[]", '{"structures": []}', '{"structures": ["X"]}', '{"structures": "T"}', "{" * 9_000]
)
def test_an_unusable_reply_reads_everything_and_says_why(reply: str) -> None:
    chosen = selection(Completion(reply), "ST")
    assert (chosen.subset, chosen.valid) == ("S+T", False)
    assert chosen.reason
    with pytest.raises(ChoiceError):
        choose.parse(reply, "ST")


def test_a_failed_call_reads_everything() -> None:
    chosen = selection(Completion("", "error", "timed out"), "ST")
    assert (chosen.subset, chosen.valid, chosen.reason) == ("S+T", False, "timed out")
