"""The answerer without a model quotes what matches, abstains where nothing does, and always says the same."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.answer import Answer, AnswerTask
from models.compose import Section
from models.extractive import ExtractiveAnswerer, ExtractiveConfig
from models.metrics.ama_f1 import ama_f1
from storage.corpora.ama_bench import AmaBench
from storage.corpora.base import ReadReport
from storage.records import ABSTENTION
from storage.structures.base import Evidence
from storage.structures.render import StepRow, render_step
from storage.structures.step_refs import resolve_steps

CHAT = (
    "[D1:3] 2023-05-08 13:56 (session 1) Caroline: I went to a LGBTQ support group yesterday and it was so powerful.",
    "[D2:1] 2023-05-25 10:00 (session 2) Melanie: Where did you hide the presents?",
    "[D2:2] 2023-05-25 10:01 (session 2) Caroline: Under the old wooden staircase!",
    "[D3:4] 2023-06-09 10:00 (session 3) Melanie: My kids love dinosaurs. I have three kids.",
    "[D3:5] 2023-06-09 10:02 (session 3) Caroline: I have painted for seven years.",
    "[D3:6] 2023-06-09 10:03 (session 3) Melanie: I never liked jazz music.",
)
WALK = (
    "Step 0:\nAction: look\nObservation: You are in a kitchen. The current available actions are: go north",
    "Step 1:\nAction: go to sofa 1\nObservation: You arrive at sofa 1. On it you see a remote control.",
    "Step 2:\nAction: take remote control\nObservation: You pick up the remote control.",
    "Step 3:\nAction: look\nObservation: Nothing happens.",
)


def task(question: str, *blocks: str, **fields: object) -> AnswerTask:
    evidence = Evidence(blocks)
    sections = (Section("R", evidence.text, evidence.block_starts, 7),)
    return replace(AnswerTask("toy/e/0", question, "", sections), **fields)  # type: ignore[arg-type]


def answer(question: str, *blocks: str, **fields: object) -> str:
    [given_answer] = ExtractiveAnswerer().answer([task(question, *blocks, **fields)])
    assert given_answer.status == "ok"
    return given_answer.text


def test_when_is_answered_with_the_resolved_date() -> None:
    assert answer("When did Caroline go to the LGBTQ support group?", *CHAT) == "7 May 2023"


def test_a_turn_that_names_no_time_gives_its_own_date() -> None:
    assert answer("When did Melanie talk about dinosaurs?", *CHAT) == "9 June 2023"


def test_how_many_is_answered_with_a_number() -> None:
    assert answer("How many kids does Melanie have?", *CHAT) == "three"


def test_how_long_is_answered_with_a_duration() -> None:
    assert answer("How long has Caroline painted?", *CHAT) == "seven years"


@pytest.mark.parametrize(
    ("question", "expected"), [("Does Melanie like jazz music?", "No"), ("Did Caroline go to a support group?", "Yes")]
)
def test_yes_or_no_follows_the_best_sentence(question: str, expected: str) -> None:
    assert answer(question, *CHAT) == expected


def test_the_answer_does_not_repeat_the_question() -> None:
    text = answer("What do Melanie's kids love?", *CHAT)
    assert "dinosaurs" in text
    assert "kids" not in text


def test_a_reply_answers_the_question_before_it() -> None:
    assert "wooden staircase" in answer("Where did Caroline hide the presents?", *CHAT)


def test_the_person_who_is_asked_about_counts() -> None:
    blocks = ("[D1:1] Jon: My favourite sport is tennis.", "[D1:2] Gina: My favourite sport is judo.")
    assert answer("What is Jon's favourite sport?", *blocks).startswith("tennis")
    assert answer("What is Gina's favourite sport?", *blocks).startswith("judo")


def test_a_named_step_is_quoted_with_its_action() -> None:
    assert answer("At step 2, what did the agent do?", *WALK).startswith("Step 2: take remote control You pick up")


def test_the_actions_of_a_range_are_listed() -> None:
    text = answer("What actions were performed between step 1 and step 3?", *WALK)
    assert text == "step 1: go to sofa 1; step 2: take remote control; step 3: look;"


def test_the_frequencies_of_actions_are_counted() -> None:
    text = answer("Until step 3, what actions has the agent performed and how frequently?", *WALK)
    assert text == "'look' (2 times), 'go to sofa 1' (1 time), 'take remote control' (1 time)"


def test_a_step_that_is_not_named_is_found_by_its_words() -> None:
    assert answer("Which step picks up the remote control?", *WALK).startswith("Step 2:")


def test_a_long_answer_is_cut() -> None:
    blocks = tuple(f"Step {i}:\nAction: go {i}\nObservation: {'wall ' * 100}" for i in range(20))
    assert len(answer("What happened from step 0 to step 19?", *blocks).split()) == ExtractiveConfig().max_words


@pytest.mark.parametrize(
    "changed",
    [
        {"sections": ()},
        {"sections": (Section("R", " \n", (), 0),)},
        {"localised": False},
        {"question": "Who sings opera in Vienna?"},
        {"question": ""},
    ],
)
def test_it_abstains_where_nothing_matches(changed: dict[str, object]) -> None:
    assert answer(str(changed.pop("question", "What do Melanie's kids love?")), *CHAT, **changed) == ABSTENTION


def test_a_trajectory_without_a_match_abstains() -> None:
    assert answer("Quantum chromodynamics?", *WALK) == ABSTENTION


def test_a_question_in_another_script_is_answered() -> None:
    blocks = ("[D1:1] 2023-05-08 10:00 (session 1) 田中: 好きな食べ物は寿司です。", "[D1:2] 佐藤: 天気がいいですね。")
    assert answer("田中さんの好きな食べ物は何ですか", *blocks) != ABSTENTION


def test_every_answer_is_reported_once_with_what_it_read() -> None:
    seen: list[tuple[int, Answer]] = []
    tasks = [task("Does Melanie like jazz music?", *CHAT, question_id=f"q{i}") for i in range(3)]
    answers = ExtractiveAnswerer().answer(tasks, lambda index, given_answer: seen.append((index, given_answer)))
    assert seen == list(enumerate(answers))
    assert [a.question_id for a in answers] == ["q0", "q1", "q2"]
    assert all((a.evidence_tokens, a.prompt_tokens, a.completion_tokens) == (7, 0, 0) for a in answers)


def test_the_name_changes_with_a_setting() -> None:
    assert ExtractiveAnswerer().name == ExtractiveAnswerer(ExtractiveConfig()).name
    assert ExtractiveAnswerer().name != ExtractiveAnswerer(ExtractiveConfig(max_words=9)).name


PIECES = st.sampled_from(
    [*CHAT, *WALK, "turn_id: 1\nenv_state:\n- session: 9, 99 Foo 2023", "{x}", "Step 9:\nAction: ", "", "ß🪿"]
)


@settings(deadline=None, max_examples=150)
@given(question=st.text(max_size=80), blocks=st.lists(PIECES | st.text(max_size=60), max_size=6), conversation=st.booleans())
def test_no_input_breaks_it_and_equal_input_gives_equal_answers(
    question: str, blocks: list[str], conversation: bool
) -> None:
    first, second = (answer(question, *blocks, conversation=conversation) for _ in range(2))
    assert first == second
    assert first


@pytest.mark.data
def test_named_steps_of_real_trajectories_are_worth_quoting(data_dir: Path) -> None:
    scores = []
    for number, episode in enumerate(AmaBench().read(str(data_dir / "ama_bench"), ReadReport())):
        if number % 8:
            continue
        shown = {
            s.step: render_step(StepRow(s.step, s.action, s.observation, None, None, None, None), 8_000)
            for s in episode.steps
        }
        named = [(question, resolve_steps(question.question, list(shown))) for question in episode.questions]
        scores.extend(
            ama_f1(answer(question.question, *(shown[step] for step in steps)), question.answer)
            for question, steps in named
            if steps
        )
    assert len(scores) > 100
    assert statistics.fmean(scores) > 0.15


@pytest.mark.benchmark
def test_speed_on_20k_characters() -> None:
    steps = [f"Step {i}:\nAction: go to room {i}\nObservation: {'You see a small door. ' * 22}" for i in range(40)]
    tasks = [
        task(f"When did the door of room {i} open?", *steps, f"Step 99:\nAction: wait\nObservation: {i}") for i in range(100)
    ]
    start = time.perf_counter()
    ExtractiveAnswerer().answer(tasks)
    print(f"{(time.perf_counter() - start) * 10:.2f} ms a question")
