from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from models.selector import sandbox_session
from models.selector.contract import Case
from models.selector.sandbox import PolicyError, SandboxLimits, Selection, check, encode_cases, encode_examples, fit, select
from models.selector.sandbox_driver import wrap

ROOT = Path(__file__).parents[3]
LETTERS = "STGVR"
POLICY = '''"""Reads T where a step is named,
  else what was best on average."""
from __future__ import annotations

import re
from collections import defaultdict

STEP = re.compile(
    r"step (\\d+)")
NOTE = """
  kept
as it is"""


def fit(examples):
    return {"best": best(examples), "note": NOTE}


def best(examples: list[dict]) -> str:
    total = defaultdict(float)
    for example in examples:
        for subset, score in example["scores"].items():
            total[subset] += score - 1e-6 * example["tokens"][subset]
    return max(total, key=lambda subset: total[subset])


def select(question, context, params):
\tif STEP.search(question.lower()):
\t\treturn ["T"]
\tchosen = params["best"].split("+")
\treturn chosen if context["n_steps"] < 50 else chosen + [chosen[0], "R"]
'''


def case(question: str, n_steps: int = 10) -> Case:
    previews = {"T": {"n_tokens": 5, "items": 1, "top_scores": [1.0], "steps": [3], "localised": True, "head": "Step 3: ü"}}
    context = {"task": "tidy", "n_steps": n_steps, "structures": list(LETTERS), "previews": previews}
    return Case("toy/e/0", question, context)


def example(question: str, scores: dict[str, float]) -> dict[str, object]:
    tokens = dict.fromkeys(scores, 1000.0)
    return {"question": question, "context": case(question).context, "scores": scores, "tokens": tokens}


EXAMPLES = [example("Why?", {"S": 0.0, "V+G": 1.0, "S+T": 0.5}), example("When?", {"S": 1.0, "V+G": 1.0})]
BEFORE = "def fit(examples): return None\n"


def returning(expression: str) -> str:
    return f"{BEFORE}def select(question, context, params): return {expression}\n"


def test_a_policy_learns_and_chooses() -> None:
    check(POLICY)
    params = fit(POLICY, EXAMPLES)
    assert params == {"best": "V+G", "note": "\n  kept\nas it is"}
    chosen = select(POLICY, params, [case("At Step 3?"), case("Why?"), case("Why?", 80)], LETTERS)
    assert chosen == [Selection("T"), Selection("G+V"), Selection("G+V+R")]


def test_encoded_questions_and_examples_give_the_same() -> None:
    cases = [case("At Step 3?"), case("Why?", 80)]
    params = fit(POLICY, encode_examples(EXAMPLES))
    assert params == fit(POLICY, EXAMPLES)
    assert select(POLICY, params, encode_cases(cases), LETTERS) == select(POLICY, params, cases, LETTERS)


def test_line_ends_of_other_systems_are_read() -> None:
    assert fit(POLICY.replace("\n", "\r\n"), EXAMPLES) == fit(POLICY, EXAMPLES)


@pytest.mark.parametrize(
    ("expression", "subset"),
    [
        ("['R', 'S']", "S+R"),
        ("('G', 'G', 'T')", "T+G"),
        ("{'V', 'S'}", "S+V"),
        ("frozenset(['R'])", "R"),
        ("context['structures']", "S+T+G+V+R"),
        ("[letter for letter, p in context['previews'].items() if p['localised']]", "T"),
        ("['R'] if 'ü' in context['previews']['T']['head'] else ['S']", "R"),
    ],
)
def test_letters_are_put_in_the_fixed_order_without_repeats(expression: str, subset: str) -> None:
    assert select(returning(expression), None, [case("Why?")], LETTERS) == [Selection(subset)]


def test_only_the_structures_at_hand_can_be_chosen() -> None:
    chosen = select(returning("['V']"), None, [case("Why?")], "TS")
    assert chosen == [Selection("S+T", False, "select returned 'V'; the structures are S, T")]


def test_params_are_json_and_share_nothing_with_the_policy() -> None:
    source = "def fit(examples): return {1: (2, None), 'x': True}\ndef select(q, c, params): return [params['x']]\n"
    assert fit(source, []) == {"1": [2, None], "x": True}


def test_names_may_be_defined_after_their_use_and_in_a_branch() -> None:
    source = (
        "if True:\n    def fit(e): return f()\n"
        "def f(): return g.n\n"
        "class G:\n    n = 3\n"
        "g = G()\nselect = lambda q, c, p: ['S']\n"
    )
    assert fit(source, []) == 3
    assert select(source, 3, [case("Why?")], LETTERS) == [Selection("S")]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (BEFORE, "defines no function select"),
        ("def select(q, c, p): return []", "defines no function fit"),
        (BEFORE + "def select(q, c, p):\n    return (1 2)", "syntax error in line 3: Expected `)`, found int"),
        ("x = [1, 2\n" + BEFORE, "syntax error in line 1: Expected `]`"),
        (BEFORE + "  x = 1\n" + BEFORE, "syntax error in line 2: Unexpected indentation"),
        ("  x = 1\n", "syntax error in line 1: unexpected indent"),
        ("x = '''a\nb", "syntax error in line 1: missing closing quote"),
        ("x = 1\ny = [x][3]\n", "line 2: IndexError"),
        ("class A(list): pass\n", "line 1: NotImplementedError"),
        ("def fit(examples):\n    yield 1\n", "line 2: NotImplementedError"),
        ("", "defines no function fit"),
    ],
)
def test_a_source_that_is_no_policy_says_why(source: str, reason: str) -> None:
    with pytest.raises(PolicyError) as caught:
        check(source)
    assert reason in str(caught.value)


@pytest.mark.parametrize("source", ["def select(:", "class A(list): pass\n"])
def test_a_source_that_does_not_compile_is_an_error_in_select(source: str) -> None:
    with pytest.raises(PolicyError, match="line 1"):
        select(source, None, [case("Why?")], LETTERS)


@pytest.mark.parametrize(
    "source",
    [
        BEFORE + "def select(q, c, p):\n    raise NotImplementedError('no')\n",
        BEFORE + "def select(q, c, p):\n    return ['S']\nraise NotImplementedError('no')\n",
    ],
)
def test_a_policy_that_raises_what_the_interpreter_raises_compiles_and_fails_by_question(source: str) -> None:
    refused = Selection("S+T+G+V+R", False, "NotImplementedError: no")
    assert select(source, None, [case("Why?"), case("When?")], LETTERS) == [refused, refused]


def test_a_failing_question_keeps_its_reason_and_the_others_their_answer() -> None:
    source = returning("['S'] if 'Why' in question else [1 / 0]")
    chosen = select(source, None, [case("Why?"), case("When?"), case("Why not?")], LETTERS)
    assert chosen[1] == Selection("S+T+G+V+R", False, "ZeroDivisionError: division by zero")
    assert chosen[0] == chosen[2] == Selection("S")


def test_trouble_within_a_stride_is_pinned_to_its_question() -> None:
    source = BEFORE + "def select(q, c, p):\n    while q.endswith('9'): pass\n    return ['S']\n"
    cases = [case(f"question {i}") for i in range(20)] * 4
    limits = SandboxLimits(question_seconds=0.1)
    chosen = select(source, None, cases, LETTERS, limits)
    late = Selection("S+T+G+V+R", False, "took longer than 0.1 s")
    assert chosen == [late if c.question.endswith("9") else Selection("S") for c in cases]


def test_output_is_counted_per_question() -> None:
    source = BEFORE + "def select(q, c, p):\n    print('x' * int(q))\n    return ['S']\n"
    limits = SandboxLimits(output_chars=100)
    chosen = select(source, None, [case("90")] * 40 + [case("101")] + [case("90")] * 40, LETTERS, limits)
    assert [selection.valid for selection in chosen] == [True] * 40 + [False] + [True] * 40
    assert chosen[40].reason == "printed more than 100 characters"


def test_no_question_gives_no_selection() -> None:
    assert select(POLICY, {"best": "S"}, [], LETTERS) == []


def test_equal_calls_give_equal_results_with_chance_and_clock() -> None:
    source = (
        "import random, datetime\n"
        "def fit(e): return [random.random(), str(datetime.datetime.now()), list({'a', 'b', 'c'})]\n"
        "def select(q, c, p): return random.sample(c['structures'], 2)\n"
    )
    assert fit(source, []) == fit(source, [])
    chosen = select(source, None, [case("Why?")] * 40, LETTERS)
    assert set(chosen) == {chosen[0]}
    assert chosen[0].valid


def test_a_key_outside_the_contract_is_refused() -> None:
    with pytest.raises(ValueError, match="example 1 holds gold: a policy may see context, question, scores, tokens only"):
        fit(POLICY, [{**EXAMPLES[0], "gold": "x"}])
    leaky = {**EXAMPLES[0], "context": {"n_steps": 3, "verdict": "correct"}}
    with pytest.raises(ValueError, match="the context of example 1 holds verdict"):
        fit(POLICY, [leaky])


def test_threads_share_the_workers() -> None:
    def run(i: int) -> list[Selection]:
        return select(returning(f"['{LETTERS[i % 5]}']"), None, [case("Why?")] * 50, LETTERS)

    with ThreadPoolExecutor(8) as threads:
        for i, chosen in enumerate(threads.map(run, range(40))):
            assert chosen == [Selection(LETTERS[i % 5])] * 50


def test_the_wrapped_source_is_remembered() -> None:
    assert wrap(POLICY, 20_000) is wrap(POLICY, 20_000)


def run_script(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    assert not done.stderr
    return done.stdout


def test_the_workers_end_with_the_process() -> None:
    script = (
        "from models.selector.sandbox import check\nfrom models.selector import sandbox_session\n"
        "check('def fit(e): pass\\ndef select(q, c, p): pass')\n"
        "with sandbox_session._pool().checkout() as session: print(session.worker_pid)\n"
    )
    worker = int(run_script(script))
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_process_is_told_instead_of_hanging() -> None:
    script = (
        "import os\nfrom models.selector.sandbox import check\n"
        "POLICY = 'def fit(e): pass\\ndef select(q, c, p): pass'\ncheck(POLICY)\n"
        "child = os.fork()\n"
        "if child == 0:\n    try:\n        check(POLICY)\n    except RuntimeError as error:\n"
        "        print(error, flush=True)\n    raise SystemExit\n"
        "os.waitpid(child, 0)\ncheck(POLICY)\nprint('the parent goes on')\n"
    )
    told, parent = run_script(script).splitlines()
    assert "spawn" in told
    assert parent == "the parent goes on"


def test_the_pool_is_made_once() -> None:
    check(POLICY)
    pool = sandbox_session._pool()
    check(POLICY)
    assert sandbox_session._pool() is pool
