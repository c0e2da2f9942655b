"""The intent of a question, from its words alone."""

from __future__ import annotations

import inspect

import pytest

from storage.structures.events import INTENTS
from storage.structures.intent import intent


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did Caroline go to the LGBTQ support group?", "temporal"),
        ("How long has Melanie been practicing art?", "temporal"),
        ("In which month did they move?", "temporal"),
        ("How many weeks passed between the two races?", "temporal"),
        ("What did the agent do at step 12?", "temporal"),
        ("What happened in steps 3 to 7?", "temporal"),
        ("What did Bo buy in May?", "temporal"),
        ("Why did Caroline choose the adoption agency?", "causal"),
        ("What made the command fail after the update?", "causal"),
        ("What inspired the painting?", "causal"),
        ("What would happen if the key had been lost?", "causal"),
        ("Who supports Caroline when she has a negative experience?", "temporal"),
        ("Who lent Bo the kayak?", "entity"),
        ("Where did Oliver hide his bone?", "entity"),
        ("What is the name of the dog?", "entity"),
        ("Were Scott Derrickson and Ed Wood of the same nationality?", "entity"),
        ("What kind of art does Caroline make?", "semantic"),
        ("How does Melanie feel about the sunset?", "semantic"),
        ("What did Caroline research?", "general"),
        ("May I ask for the colour?", "general"),
        ("他什么时候去的？", "general"),
        ("", "general"),
        ("🙂", "general"),
    ],
)
def test_the_words_of_a_question_tell_what_it_follows(question: str, expected: str) -> None:
    assert intent(question) == expected


def test_only_the_text_is_read() -> None:
    assert list(inspect.signature(intent).parameters) == ["text"]


@pytest.mark.parametrize("text", ["how many " * 5_000, "if " * 10_000, "x" * 100_000, "step " * 5_000])
def test_long_texts_get_an_intent_quickly(text: str) -> None:
    assert intent(text) in INTENTS
