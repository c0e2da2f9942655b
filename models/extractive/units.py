"""Evidence read back as its smallest parts: steps of a trajectory, turns of a conversation, plain lines.

    Step 12:                                               a step (T, V, R)
    [D1:3] 2023-05-08 13:56 (session 1) Caroline: ...      a turn (T, V, R)
    turn_id: 12                                            a step, or turns where the entry names speakers (S)
    [D1:3 2023-05-08] (Caroline, went to, a concert)       a turn (G)

Anything else is a line. An observation that imitates a head is taken for a step of its own: for picking words to quote that
does no harm.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from models.compose import Section
from models.extractive.words import sentences, stems

_STEP = re.compile(r"^Step (-?\d+):\nAction: (.*?)\nObservation: ?", re.MULTILINE | re.DOTALL)
_TURN = re.compile(
    r"^\[(?P<ref>[^\]\n]{1,20})\](?: (?P<date>\d{4}-\d\d-\d\d) \d\d:\d\d)?(?: \(session \d+\))? (?P<speaker>[^:\n]{1,60}): ",
    re.MULTILINE,
)
_NOTES = re.compile(r" ?\([^()\n]{1,100} = \d{4}[^()\n]{0,300}\)\s*$")
"""The resolved dates that the temporal structure adds to a turn, as in "(last Friday = 2023-05-05)"."""
_ENTRY = re.compile(r"^turn_id: (-?\d+)\nenv_state:\n", re.MULTILINE)
_SESSION = re.compile(r"^- session: (?:\d+, )?(\d{1,2} \w+ \d{4})", re.MULTILINE)
_SAID = re.compile(r"- ([^:\n]{1,60}): (.+)")
_FACT = re.compile(r"\s*\[[^\]\n]{1,20}? (?P<date>\d{4}-\d\d-\d\d)\] \((?P<head>[^,]+), (?P<rest>.*)\)")


@dataclass(frozen=True, slots=True)
class Unit:
    """One part. A step has a label, an action and its observation as text; a turn has a speaker; a line has text alone.

    `stems` are those of all its words.
    """

    text: str
    step: int | None = None
    action: str = ""
    speaker: str = ""
    said_on: date | None = None
    stems: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def is_turn(self) -> bool:
        return bool(self.speaker)


def read_units(sections: Iterable[Section]) -> list[Unit]:
    """The parts of all sections in reading order, each turn and line once, and each step once at its fullest."""
    units: list[Unit] = []
    at: dict[object, int] = {}
    for unit in (unit for section in sections for unit in _units(section.text)):
        key = unit if unit.step is None else unit.step
        if key not in at:
            at[key] = len(units)
            units.append(unit)
        elif len(unit.text) > len(units[at[key]].text):
            units[at[key]] = unit
    return units


@functools.lru_cache(maxsize=128)
def _units(text: str) -> tuple[Unit, ...]:
    """Cached: a sweep shows the same section in half of all subsets."""
    units = _steps(text) or _turns(text) or _summary(text) or _lines(text)
    return tuple(replace(unit, stems=frozenset(stems(f"{unit.action} {unit.text}"))) for unit in units)


def _steps(text: str) -> list[Unit]:
    return [Unit(body, int(head[1]), head[2].strip()) for head, body in _headed(_STEP, text)]


def _turns(text: str) -> list[Unit]:
    return [
        Unit(
            text=_NOTES.sub("", body),
            speaker=head["speaker"],
            said_on=date.fromisoformat(head["date"]) if head["date"] else None,
        )
        for head, body in _headed(_TURN, text)
    ]


def _headed(pattern: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each head with the text up to the next one."""
    heads = list(pattern.finditer(text))
    for i, head in enumerate(heads):
        end = heads[i + 1].start() if i + 1 < len(heads) else len(text)
        yield head, text[head.end() : end].strip()


def _summary(text: str) -> list[Unit]:
    """The entries of a summary, and its opening lines as lines."""
    entries = list(_headed(_ENTRY, text))
    if not entries:
        return []
    is_dialogue = _SESSION.search(text) is not None
    units = _spoken(body for _, body in entries) if is_dialogue else [_entry(int(head[1]), body) for head, body in entries]
    return units + _lines(text[: entries[0][0].start()])


def _spoken(bodies: Iterable[str]) -> list[Unit]:
    """The turns in the entries of a conversation's summary. A session line dates all that follow it."""
    units: list[Unit] = []
    said_on: date | None = None
    for body in bodies:
        for line in body.splitlines():
            if session := _SESSION.match(line):
                said_on = _day(session[1])
            elif said := _SAID.match(line):
                units.append(Unit(said[2], speaker=said[1], said_on=said_on))
    return units


def _day(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%d %B %Y").date()
    except ValueError:
        return None


def _entry(label: int, body: str) -> Unit:
    lines = [line.removeprefix("- ") for line in body.splitlines()]
    action = next((line.removeprefix("action: ") for line in lines if line.startswith("action: ")), "")
    return Unit("\n".join(line.removeprefix("result: ") for line in lines if not line.startswith("action: ")), label, action)


def _lines(text: str) -> list[Unit]:
    return [_fact(line) or Unit(line) for line in sentences(text)]


def _fact(line: str) -> Unit | None:
    """A dated triple of the graph, as something that its head said."""
    fact = _FACT.fullmatch(line)
    if fact is None:
        return None
    words = fact["rest"].removeprefix("said, ").replace(", ", " ", 1)
    return Unit(words, speaker=fact["head"], said_on=date.fromisoformat(fact["date"]))
