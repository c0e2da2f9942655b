"""Evidence of every structure is read back as steps, turns and lines."""

from __future__ import annotations

from datetime import UTC, date, datetime

from models.compose import Section
from models.extractive.units import Unit, read_units
from models.extractive.words import sentences, stem
from storage.structures.render import StepRow, render_step

STEP = StepRow(12, "click [96]", "Tab 0: Dashboard\n\n- a link", None, None, None, None)
TURN = StepRow(
    3,
    "dialogue",
    "I went to a support group yesterday: it was great.",
    "Caroline",
    1,
    datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
    "D1:3",
)


def section(text: str, letter: str = "R") -> Section:
    return Section(letter, text, (), 0)


def read(*texts: str) -> list[Unit]:
    return read_units([section(text) for text in texts])


def test_a_rendered_step_is_read_back() -> None:
    [unit] = read(render_step(STEP, 8_000))
    assert (unit.step, unit.action, unit.text) == (12, STEP.action, STEP.observation)


def test_a_rendered_turn_is_read_back_without_added_dates() -> None:
    [unit] = read(render_step(TURN, 8_000) + " (yesterday = 2023-05-07; last week = 2023-05-01 to 2023-05-07)")
    assert (unit.speaker, unit.text, unit.said_on) == ("Caroline", TURN.observation, date(2023, 5, 8))


def test_brackets_that_were_said_stay() -> None:
    [unit] = read("[D1:4] 2023-05-08 13:56 (session 1) Mel: I love it (the blue one).")
    assert unit.text == "I love it (the blue one)."


def test_a_turn_without_a_date_has_none() -> None:
    [unit] = read("[turn 7] speaker: hello")
    assert (unit.speaker, unit.said_on) == ("speaker", None)


def test_a_step_or_turn_shown_by_two_structures_is_read_once() -> None:
    step, turn = render_step(STEP, 8_000), render_step(TURN, 8_000)
    assert len(read(step, f"{step}\n\n{step}")) == 1
    assert len(read(turn, turn)) == 1


def test_the_fullest_showing_of_a_step_counts() -> None:
    [unit] = read("turn_id: 12\nenv_state:\n- action: click [96]", render_step(STEP, 8_000))
    assert unit.text == STEP.observation


def test_the_entries_of_a_trajectorys_summary_are_steps() -> None:
    opening, first, second = sorted(
        read(
            "memory_summary: key_turns=0-1\n\nturn_id: 0\nenv_state:\n- action: look\n- result: a room\n\n"
            "turn_id: 1\nenv_state:\n- key: in the safe"
        ),
        key=lambda unit: -1 if unit.step is None else unit.step,
    )
    assert opening.text == "memory_summary: key_turns=0-1"
    assert (first.step, first.action, first.text) == (0, "look", "a room")
    assert (second.step, second.action, second.text) == (1, "", "key: in the safe")


def test_the_entries_of_a_conversations_summary_are_dated_turns() -> None:
    text = "turn_id: 4\nenv_state:\n- session: 2, 25 May 2023 13:14\n- Mel: I ran a race.\n\n"
    text += "turn_id: 9\nenv_state:\n- Caroline: Great!"
    assert [(u.speaker, u.text, u.said_on) for u in read(text)] == [
        ("Mel", "I ran a race.", date(2023, 5, 25)),
        ("Caroline", "Great!", date(2023, 5, 25)),
    ]


def test_a_dated_triple_is_something_its_head_said() -> None:
    [unit] = read("  [D1:17 2023-05-08] (Caroline, went to, a group)")
    assert (unit.speaker, unit.text, unit.said_on) == ("Caroline", "went to a group", date(2023, 5, 8))


def test_anything_else_is_a_line() -> None:
    assert [unit.text for unit in read("[step 3] (agent, opened, cabinet 3)\n\n{x} plain")] == [
        "[step 3] (agent, opened, cabinet 3)",
        "{x} plain",
    ]


def test_nothing_gives_nothing() -> None:
    assert read("", " \n\n ") == []


def test_raw_output_is_cut_into_pieces() -> None:
    assert [len(piece) for piece in sentences("x" * 1_000)] == [400, 400, 200]


def test_stems_bring_the_forms_of_a_word_together() -> None:
    assert {stem(word) for word in ("hike", "hikes", "hiking", "hiked")} == {"hik"}
    assert stem("running") == stem("runs") == stem("run")
    assert stem("2023s1") == "2023s1"
