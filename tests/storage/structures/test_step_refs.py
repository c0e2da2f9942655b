"""Which steps a question names."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.structures.step_refs import explicit_steps, resolve_steps

CASES = json.loads((Path(__file__).parents[2] / "golden" / "step_refs.json").read_text(encoding="utf-8"))

NUMBERS = st.integers(0, 60)
KEYWORDS = st.sampled_from(["step", "Step", "STEP", "turn", "Turn", "action", "observation"])
RANGES = st.sampled_from(
    [
        "At {k}s {a}-{b}, what changed?",
        "At {k}s {a}–{b}, what changed?",
        "At {k}s {a} — {b}, what changed?",
        "In {k}s {a} to {b}, what changed?",
        "In {k}s {a} through {b}, what changed?",
        "In {k}s {a} until {b}, what changed?",
        "From {k} {a} to {b}, what changed?",
        "From {k} {a} to {k} {b}, what changed?",
        "What happened between {k}s {a} and {b}?",
        "What happened between {k} {a} and {k} {b}?",
        "What happened ({k}s {a}-{b})?",
        "{k}s:{a}-{b}?",
    ]
)


@pytest.mark.parametrize("case", CASES, ids=[case["question"][:50] for case in CASES])
def test_a_golden_question_names_its_steps(case: dict[str, object]) -> None:
    labels = range(int(str(case["n_steps"])))
    assert list(resolve_steps(str(case["question"]), labels)) == case["steps"]


@given(RANGES, KEYWORDS, NUMBERS, NUMBERS)
def test_a_range_in_any_spelling_is_all_steps_between_its_ends(shape: str, keyword: str, a: int, b: int) -> None:
    low, high = sorted((a, b))
    question = shape.format(k=keyword, a=low, b=high)
    assert resolve_steps(question, range(40)) == tuple(range(low, min(high, 39) + 1))


@given(KEYWORDS, st.lists(NUMBERS, min_size=2, max_size=8, unique=True), st.sampled_from([", and ", " and ", ", "]))
def test_a_list_is_its_members(keyword: str, numbers: list[int], last: str) -> None:
    numbers.sort()
    question = f"Which rule do {keyword}s {', '.join(map(str, numbers[:-1]))}{last}{numbers[-1]} show?"
    if last == ", " and len(numbers) == 2:
        return  # "steps 5, 7 show" reads like "at step 5, 7 apples"
    assert resolve_steps(question, range(100)) == tuple(numbers)


@given(KEYWORDS, NUMBERS, st.sampled_from([" ", " #", "-", " number ", " no. ", " index ", ": "]))
def test_a_single_step_in_any_spelling_is_that_step(keyword: str, number: int, joint: str) -> None:
    assert resolve_steps(f"Why did the agent stop at {keyword}{joint}{number}?", range(100)) == (number,)


@given(st.text(max_size=200), st.lists(st.integers(-5, 300), max_size=30))
def test_any_text_gives_existing_labels_in_order(question: str, labels: list[int]) -> None:
    found = resolve_steps(question, labels)
    assert set(found) <= set(labels)
    assert list(found) == sorted(set(found))
    assert set(explicit_steps(question, labels)) <= set(found)


GRAMMAR_WORDS = st.sampled_from(
    "step steps turn action between and to - – , ( ) [ ] until before after the last first two third 3 7 12 1,024 's : # / "
    "of end from on at most 2.5 30s . ? both".split()
)


@given(st.lists(GRAMMAR_WORDS, max_size=40).map(" ".join))
def test_scrambled_references_never_raise_or_invent_a_step(question: str) -> None:
    labels = [0, 2, 3, 7, 11, 1024]
    assert set(resolve_steps(question, labels)) <= set(labels)


def test_labels_may_have_gaps_and_start_anywhere() -> None:
    assert resolve_steps("steps 8 to 14", [10, 12, 14, 20]) == (10, 12, 14)
    assert resolve_steps("the first two turns", [10, 12, 14, 20]) == (10, 12)
    assert resolve_steps("step 1,024", [1, 24, 1024]) == (1024,)


def test_a_number_past_the_end_invents_no_step() -> None:
    assert resolve_steps("At step 75, what happened?", range(35)) == ()
    assert resolve_steps("steps 30-50", range(35)) == tuple(range(30, 35))
    assert resolve_steps("after step 40", range(35)) == ()


def test_explicit_steps_leave_out_the_members_of_ranges_and_prefixes() -> None:
    assert explicit_steps("Until step 40, and between steps 5 and 9, and the last turn", range(50)) == (5, 9, 40, 49)


def test_no_episode_has_no_steps() -> None:
    assert resolve_steps("the last three turns, step 0", []) == ()


@pytest.mark.parametrize(
    "question",
    [
        "step " + "9" * 10_000,
        "step 1 to 500, " * 20_000,
        "steps " + "3, " * 60_000,
        "between (step 3) and " * 10_000,
        "(" * 1_000_000,
        "step 5 " + "()" * 60_000,
        "1." * 60_000,
    ],
    ids=lambda question: question[:20],
)
def test_a_huge_question_is_read_in_linear_time(question: str) -> None:
    started = time.process_time()
    resolve_steps(question, range(500))
    assert time.process_time() - started < 20


@pytest.mark.data
def test_every_step_that_a_real_question_names_is_found(data_dir: Path) -> None:
    """A plain pattern finds the numbers right after "step" or "turn"; those that count steps ("2–4 steps") are set aside."""
    plain = re.compile(r"\b(?:steps?|turns?)[ -]#?(\d+)\b(?![.,]\d)", re.IGNORECASE)
    named = missing = 0
    for line in (data_dir / "ama_bench" / "open_end_qa_set.jsonl").read_text(encoding="utf-8").split("\n"):
        if not line:
            continue
        episode = json.loads(line)
        labels = [turn["turn_idx"] for turn in episode["trajectory"]]
        for pair in episode["qa_pairs"]:
            found = set(resolve_steps(pair["question"], labels))
            expected = {int(number) for number in plain.findall(pair["question"])} & set(labels)
            named += len(expected)
            missing += len(expected - found)
    assert named > 1_500
    assert missing == 0


@pytest.mark.data
def test_questions_about_conversations_name_no_steps(data_dir: Path) -> None:
    conversations = json.loads((data_dir / "locomo" / "locomo10.json").read_text(encoding="utf-8"))
    questions = [pair["question"] for conversation in conversations for pair in conversation["qa"]]
    assert [question for question in questions if resolve_steps(question, range(700))] == []
