"""An intent is one word of the fixed list, as JSON or alone."""

from __future__ import annotations

import pytest

from models.prompts import intent
from storage.structures.events import INTENTS


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ('{"intent": "causal"}', "causal"),
        ('```json\n{"intent": "Temporal"}\n```', "temporal"),
        ("entity", "entity"),
        ("**General**.", "general"),
        ("<think>causal</think>semantic", "semantic"),
        ("It is causal or temporal.", None),
        ('{"intent": "spatial"}', None),
        ('{"intent": ["causal"]}', None),
        ("", None),
    ],
)
def test_intents_are_read_strictly(reply: str, word: str | None) -> None:
    assert intent.parse(reply) == word


def test_the_schema_offers_every_intent() -> None:
    assert intent.SCHEMA["properties"]["intent"]["enum"] == list(INTENTS)
    assert "```\nWhy {x}?\n```" in intent.render("Why {x}?")
