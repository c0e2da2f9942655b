"""The answer prompt is the paper's, data in it is untouched, and the answer is read from a reply as a person would."""

from __future__ import annotations

import pytest

from models.prompts import answer

PAPER = """# Task
put two keys in the safe

# State Memory (compressed)
s

# Temporal Turns (referenced by step/turn or neighborhood)
t

# Knowledge Graph (HippoRAG triples + neighbors)
g

# Retrieved Turns (embedding similarity)
v

# Chunked Context (BM25 over trajectory)
r

## Questions
Question: What was taken?

## Instructions
Provide a direct and concise answer.
Answer: [your answer here]"""


def test_the_prompt_is_the_one_of_appendix_c3() -> None:
    sections = [("S", "s"), ("T", "t"), ("G", "g"), ("V", "v"), ("R", "r")]
    assert answer.render("What was taken?", "put two keys in the safe", sections) == PAPER


def test_empty_sections_and_an_empty_task_are_left_out() -> None:
    text = answer.render("Q?", "", [("S", " \n"), ("T", "t")])
    assert text.startswith("# Temporal Turns")
    assert "# State Memory" not in text
    assert "# Task" not in text


def test_only_the_abstaining_variant_offers_a_way_out() -> None:
    assert "No information available" not in answer.render("Q?", "", [])
    assert "No information available" in answer.render("Q?", "", [], abstain=True)


def test_braces_and_dollars_in_data_stay_as_they_are() -> None:
    data = '{"cmd": "{x} ${task} %s {0}"} {{B1_evidence}}'
    assert answer.render(data, data, [("R", data)]).count(data) == 3


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("keychain 2", "keychain 2"),
        ("Answer: keychain 2", "keychain 2"),
        ("answer[1]: keychain 2", "keychain 2"),
        ("**Answer:** keychain 2", "keychain 2"),
        ("**Answer**: keychain 2", "keychain 2"),
        ("Let me look at step 3.\nAnswer: a\nb\nc", "a\nb\nc"),
        ("Answer: draft\n\nAnswer: final", "final"),
        ("Answer: [keychain 2]", "keychain 2"),
        ("Answer: [1, 2]", "[1, 2]"),
        ("[[0, 2], [4, 8]]", "[[0, 2], [4, 8]]"),
        ("[a] and [b]", "[a] and [b]"),
        ('"keychain 2"', "keychain 2"),
        ('"a" then "b"', '"a" then "b"'),
        ("“keychain 2”", "keychain 2"),
        ("```sql\nSELECT 1\n```", "SELECT 1"),
        ("Answer:", "Answer:"),
        ("The answer: none was given", "The answer: none was given"),
        ("Answer:\n- one\n- two", "- one\n- two"),
        ('"', '"'),
        ("", ""),
    ],
)
def test_the_answer_is_read_from_the_reply(reply: str, expected: str) -> None:
    assert answer.parse(reply) == expected


def test_the_digest_changes_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    before = answer.digest()
    assert before == answer.digest()
    monkeypatch.setattr(answer, "_ABSTAIN", "Say nothing.")
    assert answer.digest() != before
