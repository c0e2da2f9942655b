"""Dates and sessions in questions, and relative dates in dated turns."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.structures.relative_dates import DateRange, resolve_relative
from storage.structures.render import StepRow
from storage.structures.time_refs import resolve_times

MONDAY = date(2023, 5, 8)
SESSIONS = ["2022-12-17", "2023-05-08", "2023-05-20", "2023-07-06", "2023-07-29"]


def turn(step: int, day: str, session: int, text: str = "Hello.") -> StepRow:
    at = datetime.fromisoformat(f"{day}T13:56").replace(tzinfo=UTC)
    return StepRow(step, "dialogue", text, "Ann", session, at, f"D{session}:1")


ROWS = [turn(i, day, i + 1) for i, day in enumerate(SESSIONS)]


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        ("What did Ann say on 8 May 2023?", (1,)),
        ("What did Ann say on 8th of May, 2023?", (1,)),
        ("What did Ann say on May 8, 2023?", (1,)),
        ("What did Ann say on May 8th?", (1,)),
        ("What did Ann say on 2023-05-08?", (1,)),
        ("What did Ann do in May 2023?", (1, 2)),
        ("What did Ann do in July?", (3, 4)),
        ("What did Ann do in Dec, 2022?", (0,)),
        ("What did Ann do in 2022?", (0,)),
        ("What happened between May and July 2023?", (1, 2, 3, 4)),
        ("What happened from 9 May 2023 to 6 July 2023?", (2, 3)),
        ("What happened in the last week of July 2023?", (4,)),
        ("What happened in the first week of July 2023?", (3,)),
        ("What did they plan on the last weekend of July 2023?", (4,)),
        ("What did Ann say in session 3?", (2,)),
        ("What did Ann say in sessions 2 and 4?", (1, 3)),
        ("What did Ann say in the third session?", (2,)),
        ("What did Ann say in the first and last sessions?", (0, 4)),
        ("What did they talk about in the last two conversations?", (3, 4)),
        ("May I ask what she may do?", ()),
        ("How far did she march 5 miles?", ()),
        ("Who was Will on 31 February 2023?", ()),
        ("What happened on 2023-13-45?", ()),
        ("What happened on 9 May 2023?", ()),
        ("Which game needs version 2023.1?", ()),
        ("", ()),
    ],
)
def test_a_question_names_turns_by_date_and_session(question: str, steps: tuple[int, ...]) -> None:
    assert resolve_times(question, ROWS) == steps


def test_a_year_alone_names_nothing_in_a_conversation_of_one_year() -> None:
    assert resolve_times("What did Ann do in 2023?", ROWS[1:]) == ()


def test_a_day_also_names_the_turns_that_speak_of_it() -> None:
    rows = [turn(0, "2023-05-08", 1, "I ran a race yesterday."), turn(1, "2023-05-20", 2)]
    assert resolve_times("What did Ann do on 7 May 2023?", rows) == (0,)


def test_an_episode_without_dates_has_none() -> None:
    rows = [StepRow(3, "look", "A room.", None, None, None, None)]
    assert resolve_times("What happened on 8 May 2023 in session 1?", rows) == ()


@given(st.text(max_size=120))
def test_any_question_gives_existing_turns_in_order(question: str) -> None:
    found = resolve_times(question, ROWS)
    assert set(found) <= set(range(len(ROWS)))
    assert list(found) == sorted(set(found))


@given(
    st.sampled_from(range(len(ROWS))),
    st.sampled_from(["{d.day} {d:%B} {d.year}", "{d:%B} {d.day}, {d.year}", "{d:%Y-%m-%d}"]),
)
def test_every_spelling_of_a_session_day_names_it(step: int, spelling: str) -> None:
    assert resolve_times(f"What was said on {spelling.format(d=date.fromisoformat(SESSIONS[step]))}?", ROWS) == (step,)


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("We met last Friday.", ["last Friday = 2023-05-05"]),
        ("We met last Monday.", ["last Monday = 2023-05-01"]),
        ("We meet next Mon!", ["next Mon = 2023-05-15"]),
        ("We meet this Wednesday.", ["this Wednesday = 2023-05-10"]),
        ("It was this past Sunday.", ["this past Sunday = 2023-05-07"]),
        ("Yesterday, or today, or tomorrow?", ["Yesterday = 2023-05-07", "today = 2023-05-08", "tomorrow = 2023-05-09"]),
        ("The day before yesterday", ["The day before yesterday = 2023-05-06"]),
        ("last night and this morning", ["last night = 2023-05-07", "this morning = 2023-05-08"]),
        ("last week", ["last week = 2023-05-01 to 2023-05-07"]),
        ("next weekend", ["next weekend = 2023-05-20 to 2023-05-21"]),
        ("last weekend", ["last weekend = 2023-05-06 to 2023-05-07"]),
        ("last month, this year, last year", ["last month = 2023-04", "this year = 2023", "last year = 2022"]),
        ("next January", ["next January = 2024-01"]),
        ("last May", ["last May = 2022-05"]),
        ("two days ago", ["two days ago = 2023-05-06"]),
        ("a week ago", ["a week ago = 2023-05-01"]),
        ("two weekends ago", ["two weekends ago = 2023-04-29 to 2023-04-30"]),
        ("13 months ago", ["13 months ago = 2022-04"]),
        ("three years ago", ["three years ago = 2020"]),
        ("two weeks from now", ["two weeks from now = 2023-05-22"]),
        ("yesterday and yesterday", ["yesterday = 2023-05-07"]),
        ("a few days ago, the other day, in the past year, next may, last summer", []),
    ],
)
def test_a_relative_date_is_resolved_against_the_day_it_was_said(text: str, resolved: list[str]) -> None:
    assert [str(found) for found in resolve_relative(text, MONDAY)] == resolved


def test_a_month_before_january_is_in_the_year_before() -> None:
    assert [str(found) for found in resolve_relative("last month", date(2023, 1, 31))] == ["last month = 2022-12"]


def test_dates_outside_of_the_calendar_are_left_alone() -> None:
    assert resolve_relative("999 years ago, yesterday, last week, last year", date(1, 1, 1)) == []
    assert resolve_relative("tomorrow, next month, next year", date(9999, 12, 31)) == []


@given(
    st.dates(date(1000, 1, 1), date(9000, 1, 1)),
    st.sampled_from("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()),
)
def test_last_and_next_weekdays_lie_within_a_week(day: date, weekday: str) -> None:
    (last,), (following,) = resolve_relative(f"last {weekday}", day), resolve_relative(f"next {weekday}", day)
    assert f"{last.days.first:%A}" == f"{following.days.first:%A}" == weekday
    assert timedelta(1) <= day - last.days.first <= timedelta(7)
    assert timedelta(1) <= following.days.first - day <= timedelta(7)


@given(st.text(max_size=100), st.dates())
def test_any_text_said_on_any_day_gives_ordered_ranges(text: str, day: date) -> None:
    assert all(found.days.first <= found.days.last for found in resolve_relative(text, day))


def test_a_range_is_written_as_short_as_it_is_exact() -> None:
    assert str(DateRange.day(MONDAY)) == "2023-05-08"
    assert str(DateRange.month(2024, 2)) == "2024-02"
    assert str(DateRange.year(2023)) == "2023"
    assert str(DateRange(MONDAY, date(2023, 5, 10))) == "2023-05-08 to 2023-05-10"
