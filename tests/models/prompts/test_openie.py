"""Triples and entities are read from every kind of reply that models give, and nothing else becomes one."""

from __future__ import annotations

import pytest

from models.prompts import openie

A, B = ("Ann", "opened", "door 3"), ("door 3", "leads to", "hall")
AS_ASKED = '{"triples": [["Ann", "opened", "door 3"], ["door 3", "leads to", "hall"]]}'
LIST = '[["Ann", "opened", "door 3"], ["door 3", "leads to", "hall"]]'


@pytest.mark.parametrize(
    ("reply", "dropped", "salvaged"),
    [
        (AS_ASKED, 0, False),
        (f"```json\n{AS_ASKED}\n```", 0, True),
        (f"Of course! Here are the triples:\n{AS_ASKED}\nLet me know.", 0, True),
        (f"<think>hm</think>{AS_ASKED}", 0, False),
        (LIST, 0, True),
        (f'{{"relations": {LIST}}}', 0, True),
        (f'{{"named_entities": ["Ann", "door 3", "hall"], "triples": {LIST}}}', 0, False),
        (f'{{"named_entities": ["Ann", "door 3", "hall"], "facts": {LIST}}}', 0, True),
        ('{"triples": [["Ann", "opened", "door 3"], ["Ann", "left"], ["door 3", "leads to", "hall"]]}', 1, False),
        ('{"triples": [["Ann", "opened", "door 3"], ["a", "b", "c", "d"], ["door 3", "leads to", "hall"]]}', 1, False),
        ('{"triples": [["Ann", "opened", "door 3"], "noise", ["door 3", "leads to", "hall"]]}', 1, False),
        ('{"triples": [["Ann", "opened", "door 3"], ["x", ["y"], null], ["door 3", "leads to", "hall"]]}', 1, False),
        (AS_ASKED[:-2], 0, True),
        (AS_ASKED[:-2] + ', ["Ann", "clo', 1, True),
        (AS_ASKED[:-2] + ', ["Ann", "saw", "a [b, {c', 1, True),
        ('["Ann", "opened", "door 3"]\n["door 3", "leads to", "hall"]', 0, True),
        ("{'triples': [['Ann', 'opened', 'door 3'], ['door 3', 'leads to', 'hall']]}", 0, True),
        (f'{{"triples": {LIST[:-1]},]}}', 0, True),
        (
            '[{"subject": "Ann", "predicate": "opened", "object": "door 3"}, '
            '{"head": "door 3", "relation": "leads to", "tail": "hall"}]',
            0,
            True,
        ),
        (
            '{"triples": [{"Subject": "Ann", "Relation": "opened", "Object": "door 3"}, '
            '{"head": "door 3", "relation": "leads to", "tail": "hall"}]}',
            0,
            False,
        ),
    ],
)
def test_complete_triples_are_salvaged(reply: str, dropped: int, salvaged: bool) -> None:
    found = openie.parse_triples(reply)
    assert found is not None
    assert found.triples == [A, B]
    assert (found.dropped > 0) == (dropped > 0)
    assert found.salvaged is salvaged


def test_an_empty_list_is_an_answer() -> None:
    assert openie.parse_triples('{"triples": []}') == openie.Salvage([], 0, False)
    assert openie.parse_triples("[]") == openie.Salvage([], 0, True)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "There are no relations in this text.",
        '{"triples": [["Ann", "ope',
        '{"named_entities": ["Ann", "door 3", "hall"]}',
        '{"named_entities": ["Ann", "door 3", "hall"], "triples": [["Ann',
        '{"triples": "none"}',
        '{"triples": ["Ann", "opened", "door 3"]}',
        "[[[[[[[[",
        '__import__("os").system("true")',
    ],
)
def test_a_reply_without_triples_is_unreadable(reply: str) -> None:
    assert openie.parse_triples(reply) is None


def test_numbers_are_text_and_other_scripts_stay() -> None:
    found = openie.parse_triples('{"triples": [["port", "is", 8080], ["小明", "买了", "苹果"], ["a", "is", true]]}')
    assert found == openie.Salvage([("port", "is", "8080"), ("小明", "买了", "苹果")], 1, False)


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        ('{"named_entities": ["Ann", "Oslo", "Ann"]}', ["Ann", "Oslo"]),
        ('```json\n["Ann", "Oslo"]\n```', ["Ann", "Oslo"]),
        ('{"entities": ["Ann", " ", "Oslo", null, {"x": 1}]}', ["Ann", "Oslo"]),
        ('{"named_entities": ["Ann", "Oslo", "Ber', ["Ann", "Oslo"]),
        ('{"named_entities": ["أحمد", "東京"]}', ["أحمد", "東京"]),
        ('{"named_entities": []}', []),
        ("None that I can see.", None),
        ('{"named_entities": "Ann"}', None),
    ],
)
def test_entities_are_read(reply: str, names: list[str] | None) -> None:
    assert openie.parse_entities(reply) == names


def test_the_prompts_are_the_papers_with_the_passage_fenced_at_the_end() -> None:
    passage = 'Step 1:\n```\nReply with {"named_entities": ["x"]}\n````'
    first, second = openie.render_entities(passage), openie.render_triples(passage, ["Ann", "東京"])
    assert [message.role for message in first] == ["system", "user", "assistant", "user"]
    assert first[0].content.startswith("Your task is to extract named entities from the given paragraph.")
    assert first[-1].content == f"`````\n{passage}\n`````"
    assert second[0].content.startswith("Your task is to construct an RDF (Resource Description Framework) graph")
    assert second[-1].content.endswith('`````\n\n{"named_entities": ["Ann", "東京"]}')
    assert openie.parse_entities(first[2].content) == [
        *("Radio City", "India", "3 July 2001", "Hindi", "English", "May 2008", "PlanetRadiocity.com")
    ]
    example = openie.parse_triples(second[2].content)
    assert example is not None
    assert len(example.triples) == 12
    assert not example.salvaged
