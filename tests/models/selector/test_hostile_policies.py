"""Policies that mean harm: each is contained, the questions it leaves alone still count, and the host is unharmed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.selector import sandbox_driver
from models.selector.contract import Case
from models.selector.sandbox import PolicyError, SandboxLimits, Selection, check, fit, select

ROOT = Path(__file__).parents[3]
LETTERS = "STGVR"
EVERYTHING = "S+T+G+V+R"
# Seconds enough that a busy machine reaches the limit of memory, not that of time, where a policy takes all memory.
LIMITS = SandboxLimits(memory_bytes=64 * 2**20, fit_seconds=1.0, select_seconds=10.0, question_seconds=1.0)
CONTEXT = {"task": "tidy", "n_steps": 9, "structures": list(LETTERS), "previews": {"T": {"n_tokens": 3, "head": "Step 1"}}}
CASES = [Case(f"toy/e/{i}", f"question {i}", CONTEXT) for i in range(6)]
BAD = 3  # the question at which a policy does harm

BENIGN = """
def fit(examples):
    return {"n": len(examples)}

def select(question, context, params):
    return ["V", "T"]
"""


def harmful(body: str, head: str = "") -> str:
    """A policy whose `select` runs `body` at question BAD, and reads T otherwise."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return (
        f"{head}\ndef fit(examples):\n    return None\n\ndef select(question, context, params):\n"
        f"    if question == 'question {BAD}':\n{lines}    return ['T']\n"
    )


# name: (body of the harmful question, what the reason says)
HARM = {
    "endless loop": ("while True: pass", "longer than 1 s"),
    "endless loop that catches": ("while True:\n  try:\n    while True: pass\n  except BaseException: pass", "longer"),
    "endless loop in finally": ("try:\n  1 / 0\nfinally:\n  while True: pass", "longer"),
    "recursion": ("def f(n): return f(n + 1)\nreturn f(0)", "RecursionError"),
    "recursion without the interpreter's stack": ("x = []\nfor i in range(10**5): x = [x]\nreturn x", "list in it"),
    "memory bomb": ("x = []\nwhile True: x.append('a' * 10**7)", "64 MB of memory"),
    "memory bomb that catches": ("x = []\nwhile True:\n  try: x.append('a' * 10**7)\n  except BaseException: pass", "64 MB"),
    "string multiplication": ("return ['S' * 10**10]", "64 MB"),
    "string padding": ("return ['S'.ljust(10**10)]", "64 MB"),
    "replacing": ("return [('a' * 10**6).replace('a', 'b' * 10**6)]", "64 MB"),
    "huge power": ("return [10 ** 10 ** 8]", "64 MB"),
    "squaring that the interpreter cannot stop": ("x = 3 ** 10**6\nfor i in range(30): x = x * x\nreturn [x]", "longer"),
    "backtracking pattern": ("import re\nre.match(r'(a*)*\\1b', 'a' * 5000)\nreturn ['S', 7]", ""),
    "patterns without end": ("import re\nwhile True: re.sub('(x+x+)+y', '', 'x' * 5000)", "longer"),
    "file reading": ("return [open('/etc/passwd').read()]", "Permission"),
    "file writing": ("open('harm.txt', 'w').write('x')\nreturn ['S']", "Permission"),
    "import by name": ("return [__import__('os').getcwd()]", "NameError"),
    "dunder climbing": ("return ().__class__.__bases__[0].__subclasses__()", "AttributeError"),
    "climbing in a format": ("return ['{0.__class__.__base__}'.format([])]", "AttributeError"),
    "function globals": ("return list(select.__globals__)", "AttributeError"),
    "builtins": ("return [__builtins__['open']]", "NameError"),
    "exec": ("exec('import os')\nreturn ['S']", "exec and eval are not available"),
    "eval under another alphabet": ("return [ｅｖａｌ('1')]", "exec and eval are not available"),
    "names of the driver": ("return [params_text, program, cases, report]", "NameError"),
    "changed module": ("import json\njson.loads = None\nreturn ['S']", "AttributeError"),
    "endless printing": ("while True: print('x' * 1000)", "printed more than 10,000"),
    "long printing that catches": ("try: print('x' * 10**6)\nexcept BaseException: pass\nreturn ['S']", "printed"),
    "exit": ("raise SystemExit", "SystemExit"),
    "exit with a code": ("raise SystemExit(1)", "string argument"),
    "keyboard interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "huge error": ("raise ValueError('a' * 10**7)", "ValueError: aaa"),
    "error that cannot be shown": ("class E:\n  def __str__(self): return 1 / 0\nraise ValueError(E())", "string argument"),
    "gold from the context": ("return context['answer']", "KeyError"),
    "gold from an outcome": ("return max(context['scores'])", "KeyError"),
    "nothing": ("return None", "returned NoneType"),
    "text": ("return 'S+T'", "returned str"),
    "number": ("return 3", "returned int"),
    "dict": ("return {'S': 1}", "returned dict"),
    "coroutine": ("async def f(): return ['S']\nreturn f()", "returned"),
    "object": ("class A:\n  def __iter__(self): return ['S']\nreturn A()", "returned A"),
    "empty list": ("return []", "no structure"),
    "numbers in a list": ("return ['S', 1]", "int in it"),
    "nested list": ("return [['S']]", "list in it"),
    "list that holds itself": ("x = ['S']\nx.append(x)\nreturn x", "list in it"),
    "long list": ("return ['S'] * 10**5", "100000 letters"),
    "unknown structure": ("return ['S', 'X']", "'X'"),
    "structure that is not built": ("return ['H']", "'H'"),
    "lower case": ("return ['s']", "'s'"),
    "Cyrillic letter": ("return ['Ѕ']", "\\u0405"),
    "full-width letter": ("return ['Ｓ']", "\\uff33"),
    "invisible letter": ("return ['S\\u200b']", "\\u200b"),
    "surrogate": ("return ['\\ud800']", "\\u"),
    "spaces": ("return [' S']", "' S'"),
    "long letter": ("return ['S' * 10**6]", "'SSSSSSSS'"),
}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.iterdir())


@pytest.fixture
def any_import(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Takes the check of imports away, so that only the interpreter stands in a policy's way."""

    class Everything(frozenset[str]):
        def __contains__(self, module: object) -> bool:
            return True

    sandbox_driver.wrap.cache_clear()
    monkeypatch.setattr(sandbox_driver, "SAFE_MODULES", Everything())
    yield
    sandbox_driver.wrap.cache_clear()


def assert_only_the_bad_question_fails(source: str, reason: str) -> None:
    selections = select(source, None, CASES, LETTERS, LIMITS)
    bad = selections.pop(BAD)
    assert (bad.subset, bad.valid) == (EVERYTHING, False)
    assert reason in bad.reason
    assert len(bad.reason) <= 400
    assert selections == [Selection("T")] * (len(CASES) - 1)
    assert select(BENIGN, None, CASES, LETTERS, LIMITS) == [Selection("T+V")] * len(CASES)


@pytest.mark.parametrize(("body", "reason"), HARM.values(), ids=HARM.keys())
def test_harm_at_one_question_costs_only_that_question(body: str, reason: str) -> None:
    assert_only_the_bad_question_fails(harmful(body), reason)


FORBIDDEN = {
    "sleep": ("import time\ntime.sleep(5)", "slept"),
    "asynchronous sleep": ("import asyncio\nasync def f(): await asyncio.sleep(5)\nasyncio.run(f())", "slept"),
    "many sleeps": ("import time\nfor i in range(10**6): time.sleep(0)", ""),
    "path": ("from pathlib import Path\nreturn [Path('/etc/passwd').read_text()]", "Permission"),
    "path for writing": ("from pathlib import Path\nPath('harm.txt').write_text('x')", "Permission"),
    "folder": ("import os\nreturn os.listdir('/')", "Permission"),
    "environment": ("import os\nreturn list(os.environ)", "not supported"),
    "environment variable": ("import os\nreturn [os.getenv('HOME')]", "not supported"),
    "randomness of the system": ("import os\nreturn [os.urandom(1)]", "not supported"),
    "shell": ("import os\nos.system('touch harm.txt')", "AttributeError"),
    "process": ("import subprocess\nsubprocess.run(['touch', 'harm.txt'])", "ModuleNotFoundError"),
    "network": ("import socket\nsocket.create_connection(('localhost', 80))", "ModuleNotFoundError"),
    "web": ("from urllib.request import urlopen\nurlopen('http://localhost')", "ModuleNotFoundError"),
    "foreign code": ("import ctypes\nctypes.string_at(0)", "ModuleNotFoundError"),
    "modules": ("import sys\nreturn list(sys.modules)", "AttributeError"),
    "frames": ("import sys\nreturn [sys._getframe(1).f_globals]", "AttributeError"),
}


@pytest.mark.parametrize(("body", "reason"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_a_module_outside_the_list_is_refused(body: str, reason: str) -> None:
    with pytest.raises(PolicyError, match=r"line 7: '\w+' cannot be imported"):
        check(harmful(body), LIMITS)


@pytest.mark.usefixtures("any_import")
@pytest.mark.parametrize(("body", "reason"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_a_module_that_gets_past_the_list_does_no_harm(body: str, reason: str) -> None:
    assert_only_the_bad_question_fails(harmful(body), reason)


STATE = {
    "module variable": ("seen = []", "seen.append(1)\n    return ['S'] if len(seen) == 1 else ['T']"),
    "default argument": ("def n(seen=[]):\n    seen.append(1)\n    return len(seen)", "return ['S'] if n() == 1 else ['T']"),
    "class attribute": ("class A:\n    n = 0", "A.n += 1\n    return ['S'] if A.n == 1 else ['T']"),
    "closure": (
        "def make():\n    n = [0]\n    def f():\n        n[0] += 1\n        return n[0]\n    return f\nf = make()",
        "return ['S'] if f() == 1 else ['T']",
    ),
    "outer variable": ("n = 0", "nonlocal n\n    n += 1\n    return ['S'] if n == 1 else ['T']"),
    "cached function": (
        "import functools\nn = []\n@functools.cache\ndef f(x):\n    n.append(1)\n    return len(n)",
        "f(question)\n    return ['S'] if len(n) == 1 else ['T']",
    ),
    "params": ("", "params['n'] += 1\n    return ['S'] if params['n'] == 1 else ['T']"),
    "context": ("", "first = 'seen' not in context\n    context['seen'] = 1\n    return ['S'] if first else ['T']"),
    "stream of random": ("import random\nX = random.random()", "return ['S'] if X + random.random() < 1.7 else ['T']"),
    "clock": ("from datetime import datetime", "return ['S'] if datetime.now().year == 2000 else ['T']"),
}


@pytest.mark.parametrize(("head", "body"), STATE.values(), ids=STATE.keys())
def test_nothing_is_kept_from_one_question_to_the_next(head: str, body: str) -> None:
    source = f"{head}\ndef fit(examples): return None\ndef select(question, context, params):\n    {body}\n"
    alone = [select(source, {"n": 0}, [case], LETTERS, LIMITS)[0] for case in CASES]
    assert select(source, {"n": 0}, CASES, LETTERS, LIMITS) == alone == [Selection("S")] * len(CASES)


def test_a_declaration_of_global_state_is_refused() -> None:
    with pytest.raises(PolicyError, match="line 3: `global`"):
        check("n = 0\ndef fit(examples):\n    global n\n    n = 1\ndef select(q, c, p): return ['S']")


@pytest.mark.parametrize("key", ["answer", "scores", "evidence_steps", "best_subset"])
def test_a_context_with_gold_in_it_reaches_no_policy(key: str) -> None:
    poisoned = Case("toy/e/7", "question 7", {**CONTEXT, key: ["R"]})
    with pytest.raises(ValueError, match=f"question toy/e/7 holds {key}"):
        select(harmful(f"return context['{key}']"), None, [*CASES, poisoned], LETTERS, LIMITS)


def test_gold_in_a_preview_reaches_no_policy() -> None:
    poisoned = Case("toy/e/7", "question 7", {**CONTEXT, "previews": {"T": {"n_tokens": 3, "gold_steps": [1]}}})
    with pytest.raises(ValueError, match="the preview of T in question toy/e/7 holds gold_steps"):
        select(BENIGN, None, [poisoned], LETTERS, LIMITS)


FITS = {
    "endless loop": ("while True: pass", "longer than 1 s"),
    "memory bomb": ("x = []\n    while True: x.append('a' * 10**7)", "64 MB"),
    "squaring that the interpreter cannot stop": ("x = 3 ** 10**6\n    for i in range(30): x = x * x", "longer"),
    "error": ("return examples[0]['gold']", "line 2: KeyError: gold"),
    "huge error": ("raise ValueError('a' * 10**7)", "ValueError: aaa"),
    "printing": ("print('x' * 10**5)", "printed"),
    "huge params": ("return 'a' * 10**6", "100000 are allowed"),
    "deep params": ("x = []\n    for i in range(10**5): x = [x]\n    return x", "JSON-like"),
    "params that hold themselves": ("x = []\n    x.append(x)\n    return x", "JSON-like"),
    "not a number": ("return [float('nan')]", "JSON-like"),
    "infinity": ("return {'a': float('inf')}", "JSON-like"),
    "huge number": ("return 10 ** 5000", "JSON-like"),
    "set": ("return {1, 2}", "JSON-like"),
    "function": ("return fit", "JSON-like"),
    "object": ("class A: pass\n    return A()", "JSON-like"),
    "exec": ("exec('x = 1')", "exec and eval are not available"),
}


@pytest.mark.parametrize(("body", "reason"), FITS.values(), ids=FITS.keys())
def test_harm_in_fit_is_an_error_with_a_reason(body: str, reason: str) -> None:
    source = f"def fit(examples):\n    {body}\ndef select(question, context, params): return ['S']\n"
    with pytest.raises(PolicyError) as caught:
        fit(source, [{"question": "q", "context": CONTEXT, "scores": {}, "tokens": {}}], LIMITS)
    assert "fit failed: " in str(caught.value)
    assert reason in str(caught.value)
    assert len(str(caught.value)) <= 400
    assert fit(BENIGN, [], LIMITS) == {"n": 0}


SOURCES = {
    "endless module": ("while True: pass", "longer than 1 s"),
    "memory in the module": ("x = 'a' * 10**10", "64 MB"),
    "NUL": ("x = 'a\x00b'", "line 1: a control character"),
    "form feed": ("x = 1\n\x0cy = 2", "line 2: a control character"),
    "surrogate": ("\nx = '\ud800'", "line 2: a lone surrogate"),
    "too long": ("x = 1\n" * 4000, "20,000 are allowed"),
    "deep brackets": ("(" * 9000 + ")" * 9000, "too deeply nested"),
    "deep signs": ("-" * 9000 + "1", "too deeply nested"),
    "long sum": ("1" + "+1" * 9000, "too deeply nested"),
    "hidden import": ("if True: x = 1; import os", "line 1: 'os'"),
    "import in a row": ("import json as j, os", "line 1: 'os'"),
    "import of a part": ("from os.path import join", "line 1: 'os'"),
    "relative import": ("from . import sandbox", "line 1: '.'"),
    "return": ("return 1", "return outside of a function"),
    "end of the wrapper": ("x = 1\n\x0bimport os", "control character"),
}


@pytest.mark.parametrize(("source", "reason"), SOURCES.values(), ids=SOURCES.keys())
def test_a_harmful_source_is_refused_with_a_reason(source: str, reason: str) -> None:
    with pytest.raises(PolicyError) as caught:
        check(source, LIMITS)
    assert reason in str(caught.value)
    check(BENIGN, LIMITS)


def test_a_policy_that_hangs_on_every_question_is_given_up_in_time() -> None:
    limits = SandboxLimits(select_seconds=1.0, question_seconds=0.1)
    selections = select(harmful("pass").replace("return ['T']", "while True: pass"), None, CASES * 50, LETTERS, limits)
    assert {selection.valid for selection in selections} == {False}
    assert len(selections) == len(CASES) * 50
    assert "1 s for all questions were used up" in selections[-1].reason


MEASURE = """
import resource
from models.selector.sandbox import PolicyError, check, fit, select
from tests.models.selector.test_hostile_policies import BENIGN, CASES, HARM, LETTERS, LIMITS, harmful

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

select(BENIGN, None, CASES, LETTERS, LIMITS)
before = peak()
for name in ("memory bomb", "long list", "long letter", "huge error", "endless printing", "string multiplication"):
    select(harmful(HARM[name][0]), None, CASES, LETTERS, LIMITS)
for body in ("raise ValueError('a' * 2 * 10**7)", "return 'a' * 2 * 10**7", "print('a' * 2 * 10**7)"):
    try:
        fit("def fit(e): " + body + "\\ndef select(q, c, p): return ['S']", [], LIMITS)
    except PolicyError:
        pass
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory has another unit")
def test_the_memory_of_the_host_hardly_grows() -> None:
    done = subprocess.run([sys.executable, "-c", MEASURE], cwd=ROOT, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 32  # MB; the policies ask for gigabytes
