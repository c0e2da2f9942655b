"""Relative dates in a dated turn: "last Friday", said on 8 May 2023, was 2023-05-05.

    >>> [str(found) for found in resolve_relative("We met last Friday.", date(2023, 5, 8))]
    ['last Friday = 2023-05-05']

Only what has one calendar meaning is resolved. "A few days ago", "the other day" and seasons stay as they are. A week runs
from Monday to Sunday, a weekend is its Saturday and Sunday. "N weeks ago" is the day, "N months ago" the calendar month and
"N years ago" the calendar year.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Self

_SHORT_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
_COUNT = rf"an?|{'|'.join(_NUMBERS)}|\d{{1,3}}"
_DAYS = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?"
_PHRASE = re.compile(
    rf"""\b(?:
      (?P<before_last>(?:the\ )?day\ before\ yesterday) | (?P<after_next>(?:the\ )?day\ after\ tomorrow)
    | (?P<before>yesterday|last\ night) | (?P<after>tomorrow)
    | (?P<now>today|tonight|this\ (?:morning|afternoon|evening))
    | (?P<which>this\ past|past|last|this|next)\ (?P<period>week(?:end)?|month|year|{_DAYS}|{"|".join(MONTHS)})
    | (?P<count>{_COUNT})\ (?P<unit>day|week(?:end)?|month|year)s?\ (?P<way>ago|from\ now)
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DateRange:
    """Days from `first` to `last`, both included."""

    first: date
    last: date

    @classmethod
    def day(cls, day: date) -> Self:
        return cls(day, day)

    @classmethod
    def month(cls, year: int, month: int) -> Self:
        return cls(date(year, month, 1), date(year, month, monthrange(year, month)[1]))

    @classmethod
    def year(cls, year: int) -> Self:
        return cls(date(year, 1, 1), date(year, 12, 31))

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last

    def within(self, other: DateRange) -> bool:
        return other.first <= self.first and self.last <= other.last

    def __str__(self) -> str:
        """ISO: `2023-05-05`, `2023-05` for a whole month, `2023` for a whole year, else `2023-05-01 to 2023-05-07`."""
        if self.first == self.last:
            return self.first.isoformat()
        if (self.first.month, self.first.day, self.last) == (1, 1, date(self.first.year, 12, 31)):
            return f"{self.first.year:04}"
        if self == DateRange.month(self.first.year, self.first.month):
            return f"{self.first.year:04}-{self.first.month:02}"
        return f"{self.first.isoformat()} to {self.last.isoformat()}"


@dataclass(frozen=True, slots=True)
class RelativeDate:
    """A phrase of a text and the days it means."""

    phrase: str
    days: DateRange

    def __str__(self) -> str:
        return f"{self.phrase} = {self.days}"


def resolve_relative(text: str, said_on: date) -> list[RelativeDate]:
    """The relative dates in `text`, in order, each phrase once, resolved against the day on which it was said."""
    found: dict[str, RelativeDate] = {}
    for match in _PHRASE.finditer(text):
        try:
            days = _days(match, said_on)
        except (OverflowError, ValueError):  # before the year 1 or after 9999
            continue
        if days is not None:
            found.setdefault(match.group().lower(), RelativeDate(match.group(), days))
    return list(found.values())


def _days(match: re.Match[str], today: date) -> DateRange | None:
    if match["count"]:
        return _counted(match, today)
    if match["which"]:
        return _which(match["which"].lower(), match["period"], today)
    days = {"before_last": -2, "before": -1, "now": 0, "after": 1, "after_next": 2}
    return DateRange.day(today + timedelta(days[str(match.lastgroup)]))


def _counted(match: re.Match[str], today: date) -> DateRange:
    word = match["count"].lower()
    count = 1 if word in ("a", "an") else int(word) if word.isdigit() else _NUMBERS.index(word) + 1
    return _moved(match["unit"].lower(), -count if match["way"].lower() == "ago" else count, today)


def _moved(unit: str, by: int, today: date) -> DateRange:
    """The day, weekend, month or year that lies `by` units from `today`."""
    if unit in ("day", "week"):
        return DateRange.day(today + timedelta(by * (7 if unit == "week" else 1)))
    if unit == "weekend":
        monday = _monday(today) + timedelta(7 * by)
        return DateRange(monday + timedelta(5), monday + timedelta(6))
    if unit == "month":
        months = today.year * 12 + today.month - 1 + by
        return DateRange.month(months // 12, months % 12 + 1)
    return DateRange.year(today.year + by)


def _which(which: str, period: str, today: date) -> DateRange | None:
    by = {"this": 0, "next": 1}.get(which, -1)
    unit = period.lower()
    if which == "past" and unit[:3] not in _SHORT_DAYS:
        return None  # "in the past year" is the last twelve months
    if unit == "week":
        monday = _monday(today) + timedelta(7 * by)
        return DateRange(monday, monday + timedelta(6))
    if unit in ("weekend", "month", "year"):
        return _moved(unit, by, today)
    if unit in MONTHS:  # a capital tells the month May from the verb
        return _named_month(MONTHS.index(unit) + 1, by, today) if period[0].isupper() else None
    return DateRange.day(_named_weekday(_SHORT_DAYS.index(unit[:3]), by, today))


def _named_weekday(weekday: int, by: int, today: date) -> date:
    """The last one before today, the first one after it, or (`this`) the first one from today on."""
    if by < 0:
        return today - timedelta((today.weekday() - weekday - 1) % 7 + 1)
    start = today + timedelta(by)
    return start + timedelta((weekday - start.weekday()) % 7)


def _named_month(month: int, by: int, today: date) -> DateRange:
    """The last such month before this one, the first one after it, or (`this`) this year's."""
    if by < 0:
        return DateRange.month(today.year - (month >= today.month), month)
    return DateRange.month(today.year + (by > 0 and month <= today.month), month)


def _monday(day: date) -> date:
    return day - timedelta(day.weekday())
