"""Pieces: what reports trouble, and white space."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.extract.pieces import reports_trouble, squeeze

WORDS = [
    "error",
    "ValueError:",
    "Traceback",
    "can't",
    "exit code 3",
    "exit code 0",
    "errors",
    "ſailed",
    "INVALİD",
    "İnvalid",
]
PLAIN = re.compile(
    r"\b(?:\w*error|\w*exception|traceback|failed|failure|not found|no such|invalid|denied|cannot|can't|unable to"
    r"|nothing happens|refused|timed out|exit code [1-9])\b",
    re.IGNORECASE,
)
"""The rule in one pattern, without the shortcut for texts that hold none of its letters."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ModuleNotFoundError: no module", True),
        ("Nothing happens.", True),
        ("process finished with exit code 2", True),
        ("process finished with exit code 0", False),
        ("terrors of the deep", False),
        ("Fehler: nicht gefunden", False),
        ("É: command not found", True),
    ],
)
def test_trouble_is_told_by_words(text: str, expected: bool) -> None:
    assert reports_trouble(text) is expected


@settings(deadline=None, max_examples=400)
@given(
    parts=st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=8)), max_size=6),
    between=st.sampled_from(["", " ", "_"]),
)
def test_the_shortcut_changes_no_verdict(parts: list[str], between: str) -> None:
    text = between.join(parts)
    assert reports_trouble(text) is (PLAIN.search(text) is not None)


@given(text=st.text(alphabet=st.sampled_from("ab \t\n\r\x0b\x1c\x85\xa0\u2028\u3000"), max_size=20))
def test_each_run_of_white_space_becomes_one_space(text: str) -> None:
    assert squeeze(text) == re.sub(r"\s+", " ", text).strip()
