"""An event is read from a reply that has a summary and entities, and from no other."""

from __future__ import annotations

import pytest

from models.prompts import events


def test_a_whole_reply_is_read() -> None:
    reply = (
        '{"summary": "Ann opened\\n the door.", "entities": ["Ann", "Ann", "door 3", 7, ""], "topic": "doors",'
        ' "dates": ["8 May"], "facts": ["The door was locked."]}'
    )
    assert events.parse(reply) == events.Event(
        "Ann opened the door.", ("Ann", "door 3"), "doors", ("8 May",), ("The door was locked.",)
    )


def test_lists_that_are_missing_are_empty() -> None:
    assert events.parse('```json\n{"summary": "門が開いた", "entities": []}\n```') == events.Event(
        "門が開いた", (), "", (), ()
    )


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Ann opened the door.",
        '{"summary": "", "entities": []}',
        '{"summary": ["x"], "entities": []}',
        '{"summary": "x", "entities": "Ann"}',
        '{"summary": "x", "entities": ["Ann", "do',
        '["summary", "entities"]',
    ],
)
def test_an_unusable_reply_is_none(reply: str) -> None:
    assert events.parse(reply) is None


def test_the_step_stands_last_and_fenced() -> None:
    text = events.render("Action: ```{x}```", before="...before")
    assert text.endswith("The step:\n````\nAction: ```{x}```\n````")
    assert text.index("...before") < text.index("Action:")
    assert "for context only" not in events.render("Action: x")
