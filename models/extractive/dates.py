"""When something happened, as LoCoMo's gold answers say it: "7 May 2023", "June 2023", "The week before 9 June 2023"."""

from __future__ import annotations

import re
from datetime import date

from storage.structures.relative_dates import MONTHS, DateRange, RelativeDate, resolve_relative

_MONTH = "|".join(MONTHS)
_EXPLICIT = re.compile(
    rf"\b(?:(?P<d1>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?)?(?P<month>{_MONTH})\b(?: (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b)?"
    r"(?:,? (?P<year>(?:19|20)\d\d))?|\b(?:in|since|back in) (?P<lone>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(r"\ba (?:few|couple of) (?:days|weeks|months) (?:ago|back)\b", re.IGNORECASE)
_PERIOD_BEFORE = re.compile(r"(?:this past|past|last) (\w+)", re.IGNORECASE)
_WEEKS_AGO = re.compile(r"(an?|one|two|three) (week|weekend)s? ago", re.IGNORECASE)


def time_phrase(text: str, said_on: date) -> str:
    """The first time that `text` names, resolved against the day it was said; empty where it names none."""
    relative = [found for found in resolve_relative(text, said_on) if found.days != DateRange.day(said_on)]
    if relative:
        return _relative(relative[0], said_on)
    explicit = _explicit(text, said_on)
    if explicit:
        return explicit
    vague = _VAGUE.search(text)
    if vague:
        return f"{vague.group().rsplit(' ', 1)[0]} before {plain_date(said_on)}"
    return ""


def plain_date(day: date) -> str:
    """`7 May 2023`."""
    return f"{day.day} {day:%B %Y}"


def _relative(found: RelativeDate, said_on: date) -> str:
    period = _PERIOD_BEFORE.fullmatch(found.phrase)
    ago = _WEEKS_AGO.fullmatch(found.phrase)
    if period and found.days.last < said_on and not _is_month_or_year(found.days):
        return f"The {period[1]} before {plain_date(said_on)}"
    if ago:
        count = "The" if ago[1].lower() in ("a", "an", "one") else ago[1].capitalize()
        return f"{count} {ago[2]}{'' if count == 'The' else 's'} before {plain_date(said_on)}"
    if found.days.first == found.days.last:
        return plain_date(found.days.first)
    if not _is_month_or_year(found.days):
        return f"The week of {plain_date(found.days.first)}"
    return f"{found.days.first:%B %Y}" if found.days.first.month == found.days.last.month else f"{found.days.first.year}"


def _is_month_or_year(days: DateRange) -> bool:
    return (days.last - days.first).days > 20


def _explicit(text: str, said_on: date) -> str:
    for match in _EXPLICIT.finditer(text):
        if match["lone"]:
            return match["lone"]
        if match["month"].islower():  # "may", "march": a verb
            continue
        year = match["year"] or str(_year_of(match["month"], said_on))
        day = match["d1"] or match["d2"]
        return f"{day + ' ' if day else ''}{match['month'].capitalize()} {year}"
    return ""


def _year_of(month: str, said_on: date) -> int:
    """The year of a month named without one: the nearest to the day of speech."""
    ahead = MONTHS.index(month.lower()) + 1 - said_on.month
    return said_on.year - (ahead > 6) + (ahead < -6)
