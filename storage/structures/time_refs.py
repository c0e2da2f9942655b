"""Which turns of a conversation a question names by date or by session: "on 8 May 2023", "in July", "the third session".

A date names the turns of that day, and the turns that speak of it: in a session of 8 May, "yesterday" is 7 May
(`relative_dates.py`). A year alone counts only where the conversation has turns in several years. Dates before and after
which something happened name their own day, not an open interval: a conversation has no end that a question could mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Self

from storage.structures.relative_dates import MONTHS, DateRange, resolve_relative
from storage.structures.render import StepRow
from storage.structures.step_refs import parse_steps

_SESSION_WORDS = frozenset({"session", "sessions", "conversation", "conversations"})
_MONTH_NAMES = sorted({*MONTHS, *(name[:3] for name in MONTHS), "sept"}, key=len, reverse=True)
_MONTH = rf"(?P<month>{'|'.join(_MONTH_NAMES)})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_OF_YEAR = rf"(?:(?:,|,? of)? ?{_YEAR})"
_ORDINALS = ("first", "second", "third", "fourth")
_DATES = tuple(
    re.compile(rf"(?<![\w.-]){pattern}(?![\w-]|\.\d)", re.IGNORECASE)
    for pattern in (
        rf"{_YEAR}[-/](?P<month>\d{{1,2}})[-/](?P<day>\d{{1,2}})",
        rf"{_DAY} (?:of )?{_MONTH}{_OF_YEAR}?",
        rf"{_MONTH} {_DAY}(?:,? ?{_YEAR})?",
        rf"(?P<which>{'|'.join(_ORDINALS)}|last) (?P<unit>week|weekend) (?:of|in) {_MONTH}{_OF_YEAR}?",
        rf"{_MONTH}{_OF_YEAR}",
        _MONTH,
        _YEAR,
    )
)
"""The ways to write a date; where two match the same text, the earlier pattern counts."""
_IN = re.compile(r"\b(?:in|during|since|of|early|late|mid|by|from|to|and|until|between)[ -]$", re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:-|–|to|and|until|through)\s*", re.IGNORECASE)
_OPENS_RANGE = re.compile(r"\b(between|from)\s+(?:the\s+)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Mention:
    """A date as it is written: `year`, `month` and `day` as far as given; `part` such as ("first", "weekend")."""

    start: int
    end: int
    year: int | None
    month: int | None = None
    day: int | None = None
    part: tuple[str, str] | None = None

    def days(self, year: int) -> DateRange | None:
        """The days meant in `year`; None for a date that does not exist."""
        try:
            if self.month is None:
                return DateRange.year(year)
            if self.day is not None:
                return DateRange.day(date(year, self.month, self.day))
        except ValueError:
            return None
        month = DateRange.month(year, self.month)
        return month if self.part is None else _part_of(month, *self.part)


def _part_of(month: DateRange, which: str, unit: str) -> DateRange:
    """The first to fourth or the last week (seven days from the 1st, or up to the end) or weekend of a month."""
    if unit == "week":
        if which == "last":
            return DateRange(month.last - timedelta(6), month.last)
        start = month.first + timedelta(7 * _ORDINALS.index(which))
        return DateRange(start, start + timedelta(6))
    if which == "last":
        saturday = month.last - timedelta((month.last.weekday() - 5) % 7)
    else:
        saturday = month.first + timedelta((5 - month.first.weekday()) % 7 + 7 * _ORDINALS.index(which))
    return DateRange(saturday, saturday + timedelta(1))


class Calendar:
    """The dates and sessions of one conversation, prepared once to answer many questions."""

    def __init__(self, rows: Sequence[StepRow]):
        self._sessions = [(row.step, row.session) for row in rows if row.session is not None]
        self._days = [(row.step, DateRange.day(row.timestamp.date())) for row in rows if row.timestamp is not None]
        self._years = sorted({days.first.year for _, days in self._days})
        self._told = [
            (row.step, found.days)
            for row in rows
            if row.timestamp is not None
            for found in resolve_relative(row.observation, row.timestamp.date())
        ]

    @classmethod
    def of(cls, rows: Sequence[StepRow]) -> Self | None:
        """A calendar, or None for an episode without dates and sessions."""
        return cls(rows) if any(row.session is not None or row.timestamp is not None for row in rows) else None

    def resolve(self, question: str) -> tuple[int, ...]:
        """The labels of the turns whose day or session `question` names: ascending, without repeats."""
        named: set[int] = set()
        sessions = parse_steps(question, _SESSION_WORDS).resolve([session for _, session in self._sessions])
        if sessions:
            named.update(step for step, session in self._sessions if session in sessions)
        for span in self._ranges(question):
            named.update(step for step, days in self._days if days.within(span))
            named.update(step for step, days in self._told if days.within(span))
        return tuple(sorted(named))

    def _ranges(self, question: str) -> Iterator[DateRange]:
        mentions = _mentions(question)
        for first, last in pairwise(mentions):
            joined = _JOINED.fullmatch(question[first.end : last.start])
            if joined and _OPENS_RANGE.search(question[max(0, first.start - 20) : first.start]):
                yield from self._between(first, last)
        for mention in mentions:
            if mention.month is None and len(self._years) < 2:
                continue
            years = [mention.year] if mention.year is not None else self._years
            yield from (days for year in years if (days := mention.days(year)) is not None)

    def _between(self, first: _Mention, last: _Mention) -> Iterator[DateRange]:
        """ "Between August and November 2023": the year may stand at the second date only."""
        for year in [last.year] if last.year is not None else self._years:
            start, end = first.days(first.year or year), last.days(year)
            if start is not None and end is not None and start.first <= end.last:
                yield DateRange(start.first, end.last)


def resolve_times(question: str, rows: Sequence[StepRow]) -> tuple[int, ...]:
    """The labels of the rows whose day, month or session `question` names: ascending, without repeats."""
    calendar = Calendar.of(rows)
    return calendar.resolve(question) if calendar is not None else ()


def _mentions(question: str) -> list[_Mention]:
    """The dates of a question in order; no two overlap."""
    found: list[_Mention] = []
    taken = bytearray(len(question))
    for pattern in _DATES:
        for match in pattern.finditer(question):
            start, end = match.span()
            if not any(taken[start:end]) and _is_date(match, question):
                taken[start:end] = b"\1" * (end - start)
                found.append(_mention(match))
    return sorted(found, key=lambda mention: mention.start)


def _is_date(match: re.Match[str], question: str) -> bool:
    """Whether a month's name is one: capitalised unless a day stands before it, after a preposition when it is alone."""
    parts = match.groupdict()
    name = parts.get("month")
    if name is None or name.isdigit() or match.group()[0].isdigit():
        return True
    alone = parts.get("day") is None and parts.get("year") is None and parts.get("which") is None
    return name[0].isupper() and not (alone and not _IN.search(question[max(0, match.start() - 9) : match.start()]))


def _mention(match: re.Match[str]) -> _Mention:
    parts = match.groupdict()
    year, day, which = parts.get("year"), parts.get("day"), parts.get("which")
    return _Mention(
        *match.span(),
        year=int(year) if year else None,
        month=_month(parts["month"]) if parts.get("month") else None,
        day=int(day) if day else None,
        part=(which.lower(), parts["unit"].lower()) if which else None,
    )


def _month(name: str) -> int:
    """1 to 12; a number out of range stays, and makes a date that does not exist."""
    if name.isdigit():
        return int(name)
    return next(i for i, month in enumerate(MONTHS, start=1) if month.startswith(name[:3].lower()))
