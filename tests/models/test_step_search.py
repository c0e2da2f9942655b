"""A model's program runs in the sandbox over the steps as data: its result is text, its harm is an error message."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from models.step_search import SearchConfig, SearchError, encode_steps, sample_steps, search_steps
from tests.models.step_rows import kitchen, step, turn

CONFIG = SearchConfig(seconds=1.0, max_result_chars=200)
STEPS = encode_steps(kitchen(12), CONFIG)
PRICES = """
import re
def price(step):
    return int(re.search(r"price (\\d+)", step["observation"])[1])
result = max(map(price, steps))
"""


def search(source: str) -> str:
    return search_steps(source, STEPS, CONFIG)


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("result = len(steps)", "12"),
        ("result = 0", "0"),
        ("result = sum(s['step'] for s in steps) / 4", "16.5"),
        ("result = 'thing1 was taken first'", "thing1 was taken first"),
        ("result = ''", ""),
        ("result = {'count': 7}", '{"count": 7}'),
        ("result = [s['step'] for s in steps if 'thing1' in s['action']]", "[1, 10, 11]"),
        ("result = {3, 1, 2}", "[1, 2, 3]"),
        ("result = ('a', 1)", '["a", 1]'),
        ("result = {('a', 1): 2}", "{('a', 1): 2}"),
        ("result = '东京 ' + steps[0]['observation'][:8]", "东京 You hold"),
        (PRICES, "110"),
        (
            "from collections import Counter\nresult = Counter(s['action'][:4] for s in steps).most_common()",
            '[["take", 12]]',
        ),
        ("result = None\nfor s in steps:\n    if s['step'] == 3:\n        result = s['action']", "take thing3"),
    ],
)
def test_results_of_every_kind_are_text(source: str, result: str) -> None:
    assert search(source) == result


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import os\nresult = os.listdir('/')", "line 1: 'os' cannot be imported"),
        ("result = __import__('os').environ", "NameError"),
        ("result = open('/etc/passwd').read()", "PermissionError"),
        ("result = open('x', 'w').write('x')", "Error"),
        ("result = eval('1 + 1')", "exec and eval are not available"),
        ("exec('result = 1')", "exec and eval are not available"),
        ("while True:\n    pass", "took longer than 1 s"),
        ("try:\n    while True:\n        pass\nexcept BaseException:\n    result = 1", "took longer than 1 s"),
        ("result = 'x' * 10**10", "memory"),
        ("def f():\n    return f()\nresult = f()", "RecursionError"),
        ("for i in range(10**6):\n    print('x' * 1000)\nresult = 1", "printed more than"),
        ("x = len(steps)", "must set the variable `result`"),
        ("result = None", "must set the variable `result`"),
        ("result = steps[99]", "line 1: IndexError"),
        ("\nresult = missing", "line 2: NameError"),
        ("result = (", "syntax error"),
        ("return 7", "return outside of a function"),
        ("result = 1\x00", "control character"),
        ("#" * 30_000, "20,000 are allowed"),
        ("steps[0].__class__.__base__.__subclasses__()", "AttributeError"),
    ],
)
def test_what_a_program_may_not_do_is_an_error_for_its_author(source: str, reason: str) -> None:
    with pytest.raises(SearchError) as raised:
        search(source)
    assert reason in str(raised.value)
    assert len(str(raised.value)) < 400


def test_a_huge_result_is_cut_with_a_marker() -> None:
    text = search("result = 'ab' * 100_000")
    assert text == "ab" * 100 + "\n[... 199,800 more characters of the result]"


def test_a_program_changes_nothing_for_the_next_one() -> None:
    assert search("steps[0]['action'] = 'forged'\nsteps.clear()\nresult = len(steps)") == "0"
    assert search("result = steps[0]['action']") == "take thing0"


def test_equal_programs_give_equal_results_even_with_chance_and_clock() -> None:
    source = "import random\nfrom datetime import datetime\nresult = [random.random(), str(datetime.now())]"
    assert search(source) == search(source)


def test_no_program_leaves_a_file(tmp_path: Path) -> None:
    with pytest.raises(SearchError):
        search(f"open({str(tmp_path / 'x')!r}, 'w').write('x')\nresult = 1")
    assert list(tmp_path.iterdir()) == []


def test_steps_are_data_whatever_they_say() -> None:
    hostile = [step(0, "x", '"}]\'; import os; result = "forged" #'), turn(1, "Ann", "中文 \u2028 {x}")]
    steps = encode_steps(hostile, CONFIG)
    assert search_steps("result = steps[0]['observation']", steps, CONFIG) == hostile[0].observation
    assert json.loads(search_steps("result = steps[1]", steps, CONFIG)) == {
        "step": 1,
        "action": "dialogue",
        "observation": "中文 \u2028 {x}",
        "speaker": "Ann",
        "date": "2023-05-08 13:56",
        "ref": "D1:1",
    }


def test_a_long_episode_is_searched_whole() -> None:
    rows = [step(i, "page", "word " * 4_000 + f"needle{i}") for i in range(200)]
    started = time.perf_counter()
    source = "result = [s['step'] for s in steps if 'needle199' in s['observation']]"
    assert search_steps(source, encode_steps(rows, SearchConfig()), SearchConfig()) == "[199]"
    assert time.perf_counter() - started < 10


def test_a_sample_is_short() -> None:
    lines = sample_steps([step(0, "a" * 500, "b\n" * 500)], 100).split("\n")
    assert len(lines) == 1
    assert json.loads(lines[0]) == {"step": 0, "action": "a" * 100, "observation": "b\n" * 50}
