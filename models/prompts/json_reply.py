"""JSON in the reply of a language model: whole, in a code fence, in the middle of talk, or cut off by the token limit.

Nothing is evaluated, and nothing is invented: a value counts when it is complete. What is left of a broken object are the
complete values inside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from models.llm.storable import storable
from models.llm.thinking import strip_thinking

_MAX_OPENINGS = 2_000
"""Brackets that are tried as the start of a value: bounds the time for a reply that opens thousands and closes none."""

_OPENING = re.compile(r"[\[{]")
_DECODER = json.JSONDecoder(strict=False)  # models write line breaks inside strings
_QUOTED = r"(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+')"
_LOOSE_LIST = re.compile(rf"\[\s*+(?:{_QUOTED}\s*+(?:,\s*+|(?=\])))++\]", re.DOTALL)
"""A list of strings as Python writes it: in single quotes, or with a comma too many."""
_QUOTED_ITEM = re.compile(_QUOTED, re.DOTALL)
_COMPLETE_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*+\"(?=\s*+[,\]\s]|\Z)", re.DOTALL)


class Found(NamedTuple):
    """A complete value in a reply. `keyed`: it follows a colon, as the value of a key whose object could not be read."""

    value: Any
    keyed: bool


class Values(NamedTuple):
    """The values of a reply in order, none inside another. `broken`: after the last one a value begins and does not end."""

    found: list[Found]
    broken: bool


def json_values(reply: str) -> Values:
    """Every complete object and array of a reply that is in no other complete one."""
    text = storable(strip_thinking(reply))
    found: list[Found] = []
    at, broken = 0, False
    for _ in range(_MAX_OPENINGS):
        opening = _OPENING.search(text, at)
        if opening is None:
            break
        start = opening.start()
        read = _value_at(text, start)
        broken = read is None
        if read is None:
            at = start + 1
        else:
            value, at = read
            found.append(Found(value, text[:start].rstrip().endswith(":")))
    return Values(found, broken)


def json_object(reply: str, keys: Sequence[str]) -> dict[str, Any] | None:
    """The first complete object of a reply that has all of `keys`; None where there is none."""
    objects = (value for value, _ in json_values(reply).found if isinstance(value, dict))
    return next((value for value in objects if all(key in value for key in keys)), None)


def complete_strings(text: str) -> list[str]:
    """The complete strings of a list of strings that was cut off; `text` begins inside of the list."""
    return [value for match in _COMPLETE_STRING.finditer(text) if isinstance(value := _string(match[0]), str)]


def _value_at(text: str, start: int) -> tuple[Any, int] | None:
    """The value that starts at `start` and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        return _storable(value), end
    except (ValueError, RecursionError):
        loose = _LOOSE_LIST.match(text, start)
        return ([_string(item) for item in _QUOTED_ITEM.findall(loose[0])], loose.end()) if loose else None


def _string(quoted: str) -> str:
    if quoted[0] == "'":
        return storable(quoted[1:-1].replace("\\'", "'"))
    try:
        return storable(str(json.loads(quoted, strict=False)))
    except ValueError:  # an escape that JSON does not know, such as \d
        return storable(quoted[1:-1])


def _storable(value: Any) -> Any:
    """`value` with every text storable: an escape may spell a lone surrogate."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): _storable(item) for key, item in value.items()}
    return value
