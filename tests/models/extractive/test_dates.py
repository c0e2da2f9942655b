"""Times are said as LoCoMo's gold answers say them, resolved against the day of speech."""

from __future__ import annotations

from datetime import date

import pytest

from models.extractive.dates import plain_date, time_phrase

MONDAY = date(2023, 5, 8)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("I went there yesterday.", "7 May 2023"),
        ("We met last Friday at the park", "The Friday before 8 May 2023"),
        ("We went camping last week", "The week before 8 May 2023"),
        ("Last weekend we hiked", "The weekend before 8 May 2023"),
        ("I moved here two weeks ago", "Two weeks before 8 May 2023"),
        ("It was a week ago", "The week before 8 May 2023"),
        ("three days ago", "5 May 2023"),
        ("I started last month", "April 2023"),
        ("I graduated last year", "2022"),
        ("four years ago", "2019"),
        ("The trip is next month", "June 2023"),
        ("It happened in 2019", "2019"),
        ("The race is on June 3rd", "3 June 2023"),
        ("on the 14th of December", "14 December 2022"),
        ("in September 2022", "September 2022"),
        ("a few days ago", "a few days before 8 May 2023"),
        ("I may march on today", ""),
        ("no time at all", ""),
    ],
)
def test_the_time_that_is_named(text: str, phrase: str) -> None:
    assert time_phrase(text, MONDAY) == phrase


def test_a_day_has_no_leading_zero() -> None:
    assert plain_date(MONDAY) == "8 May 2023"
