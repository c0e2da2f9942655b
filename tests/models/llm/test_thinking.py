"""A reply is what is left without the thoughts, also where a tag is missing."""

from __future__ import annotations

import pytest

from models.llm.thinking import strip_thinking


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("<think>yes</think>no", "no"),
        ("<think>\n\n</think>\n\n  no \n", "no"),
        ("<THINK>yes</Think>no", "no"),
        ("<thinking>a</thinking>b", "b"),
        ("thoughts that the template opened</think>no", "no"),
        ("<think>never closed, yes", ""),
        ("no<think>never closed", "no"),
        ("<think>a</think>b<think>c</think>d", "bd"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("a < b and c > d", "a < b and c > d"),
        ("", ""),
    ],
)
def test_thoughts_are_gone(text: str, expected: str) -> None:
    assert strip_thinking(text) == expected
