"""Relative dates of speech resolved against the day they were said: "last Friday" on 8 May 2023 is 5 May 2023."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DAYS = {
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
}
_RELATIVE = re.compile(
    rf"\b(?P<day>{'|'.join(_DAYS)})\b"
    rf"|\b(?P<side>last|past|this|next) (?P<name>{'|'.join(_WEEKDAYS)}|week|weekend|month|year)\b"
    rf"|\b(?P<count>\d{{1,3}}|an?|{'|'.join(_NUMBERS)}) (?P<unit>day|week|month|year)s? ago\b",
    re.IGNORECASE,
)


def resolve_dates(text: str, said: datetime) -> Iterator[tuple[str, str]]:
    """(phrase as written, date) for each relative date in `text` that was said at `said`, in reading order.

    The date is as precise as the phrase: `05 May 2023`, `the week of 01 May 2023`, `April 2023` or `2022`.
    """
    for match in _RELATIVE.finditer(text):
        if match["day"]:
            yield match.group(), _day(said + timedelta(days=_DAYS[match["day"].lower()]))
        elif match["side"]:
            yield match.group(), _named(match["side"].lower(), match["name"].lower(), said)
        else:
            yield match.group(), _ago(_number(match["count"].lower()), match["unit"].lower(), said)


def _day(date: datetime) -> str:
    return f"{date:%d %B %Y}"


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    return 1 if word in ("a", "an") else _NUMBERS.index(word)


def _named(side: str, name: str, said: datetime) -> str:
    direction = {"last": -1, "past": -1, "this": 0, "next": 1}[side]
    if name in _WEEKDAYS:
        ahead = (_WEEKDAYS.index(name) - said.weekday()) % 7
        if direction < 0:
            return _day(said + timedelta(days=ahead - 7))
        return _day(said + timedelta(days=ahead or (7 if direction else 0)))
    if name == "weekend":
        saturday = said + timedelta(days=5 - said.weekday() + 7 * direction)
        return f"the weekend of {_day(saturday)}"
    return _ago(-direction, name, said)


def _ago(count: int, unit: str, said: datetime) -> str:
    if unit == "day":
        return _day(said - timedelta(days=count))
    if unit == "week":
        then = said - timedelta(weeks=count)
        return f"the week of {_day(then - timedelta(days=then.weekday()))}"
    if unit == "year":
        return str(said.year - count)
    years, month = divmod(said.month - 1 - count, 12)
    return f"{datetime(said.year + years, month + 1, 1):%B %Y}"
