"""A program is what a reply holds as code, and nothing else."""

from __future__ import annotations

import pytest

from models.llm.chat import Message
from models.prompts import search

CODE = "result = len(steps)"


@pytest.mark.parametrize(
    "reply",
    [
        f"```python\n{CODE}\n```",
        f"Here:\n```\n{CODE}\n```\nDone.",
        f"```python\nprint(1)\n```\n```python\n{CODE}\n```",
        f"```python\n{CODE}",
        f"<think>x</think>\n{CODE}",
        f'{{"code": "{CODE}"}}',
    ],
)
def test_the_program_is_found(reply: str) -> None:
    assert search.parse(reply) == CODE


@pytest.mark.parametrize("reply", ["", "I cannot do that.", "The result is 7.", "if result == 3: pass"])
def test_talk_is_no_program(reply: str) -> None:
    assert search.parse(reply) is None


def test_a_failed_program_goes_back_with_its_error() -> None:
    first = (Message("user", search.render("How many?", "count {x}", "{}")),)
    again = search.retried(first, "", "line 1: KeyError: '{x}'")
    assert [message.role for message in again] == ["user", "assistant", "user"]
    assert "KeyError: '{x}'" in again[-1].content
