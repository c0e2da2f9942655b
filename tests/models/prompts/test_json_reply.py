"""Values are found in any reply, and nothing incomplete counts as one."""

from __future__ import annotations

import time

import pytest

from models.prompts.json_reply import json_object, json_values, storable


def values(reply: str) -> list[object]:
    return [found.value for found in json_values(reply).found]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('```json\n{"a": 1}\n```', [{"a": 1}]),
        ('Sure! Here it is:\n{"a": [1, 2]}\nHope this helps [sic].', [{"a": [1, 2]}]),
        ('<think>{"a": 0}</think>{"a": 1}', [{"a": 1}]),
        ('{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        ('{"a": "line\nbreak"}', [{"a": "line\nbreak"}]),
        ('{"a": [["x", "y"], ["z", "w', [["x", "y"]]),
        ("[['it', 'is', 'python']]", [["it", "is", "python"]]),
        ('["a", "b",]', [["a", "b"]]),
        ('["a", "\\d+"]', [["a", "\\d+"]]),
        ("no JSON here", []),
        ("{not json}", []),
        ("", []),
    ],
)
def test_complete_values_are_found(reply: str, expected: list[object]) -> None:
    assert values(reply) == expected


def test_a_value_of_a_broken_object_is_known_by_its_colon() -> None:
    found = json_values('{"names": ["a", "b", "c"], "triples": [["d", "e", "f"], ["g"').found
    assert [(item.value, item.keyed) for item in found] == [(["a", "b", "c"], True), (["d", "e", "f"], False)]
    assert json_values('{"a": 1} and then {"b').broken
    assert not json_values('{oops {"a": 1}').broken


def test_what_no_store_takes_is_replaced() -> None:
    assert storable("a\0b\ud83d!") == "ab\ufffd!"
    assert values('["\\ud83d", "x\\u0000y", "\\u4e2d"]') == [["\ufffd", "xy", "中"]]


def test_an_object_is_the_first_with_all_keys() -> None:
    assert json_object('{"a": 1} {"a": 2, "b": 3}', ("a", "b")) == {"a": 2, "b": 3}
    assert json_object('[{"a": 1}]', ("a",)) is None


@pytest.mark.parametrize("reply", ["[" * 100_000, '{"a": ' * 20_000, "['" * 50_000, '["a", ' * 30_000, "{" + '"x' * 50_000])
def test_a_hostile_reply_takes_no_time(reply: str) -> None:
    started = time.perf_counter()
    assert values(reply) == []
    assert time.perf_counter() - started < 5
