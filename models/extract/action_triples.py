"""Triples from an agent's action: tool calls, commands, SQL, clicks, and moves in plain words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from models.extract.triple_text import Triple, triple

AGENT = "agent"

_CALL = re.compile(r"\s*(?P<name>[A-Za-z_][\w.-]{0,60})\s*[:(]\s*(?P<rest>\S.*)", re.DOTALL)
_WORD = re.compile(r"[a-z_]{2,24}")
_PLAIN = re.compile(r"(?P<verb>\w+(?: (?:to|up|down|off|at))?) (?P<object>.+)", re.DOTALL)
_WHERE = re.compile(r" where (?P<head>\S+) is ")
_PREPOSITION = re.compile(r" (from|to|into|in|on|with|using|at) ")
_TABLE = re.compile(r"\b(?:from|join|into|update|describe)\s+([A-Za-z_\"`][\w.\"`$]{2,120})", re.IGNORECASE)
_SCAN_CHARS = 8_000
"""How much of an action is searched for tables and files."""

PATH = re.compile(r"(?<![\w./:])(?:~|\.{1,2})?(?:/[\w.@+-]+){2,12}")
"""A file path with at least two parts."""


def action_triples(action: str, max_chars: int) -> Iterator[Triple]:
    """The relations that an action states, the main one first."""
    found = _call(action, max_chars) or _plain(action, max_chars)
    yield from found
    head = action[:_SCAN_CHARS]
    is_query = "select" in head.casefold()
    tables = dict.fromkeys(name.strip('"`') for name in _TABLE.findall(head)) if is_query else {}
    paths = dict.fromkeys(PATH.findall(head))
    for relation, names in (("queries table", tables), ("uses file", paths)):
        for name in list(names)[:4]:
            if made := triple(AGENT, relation, name, max_chars):
                yield made


def _call(action: str, max_chars: int) -> list[Triple]:
    """`name: {json}`, `name({json})` and `name: text`; empty when the action is none of them."""
    match = _CALL.match(action)
    if match is None:
        return []
    name, rest = match["name"], match["rest"].strip()
    if action[match.end("name") :].lstrip().startswith("("):
        rest = rest.removesuffix(")")
    arguments = _arguments(rest)
    values = list(arguments.values()) or [rest]
    if len(values) > 1 and _WORD.fullmatch(values[0]):  # {"command": "view", "path": ...}: the first value is a verb
        made = [triple(AGENT, f"{name} {values[0]}", values[1], max_chars)]
    else:
        made = [triple(AGENT, name, values[0], max_chars)]
    made += [triple(name, key, value, max_chars) for key, value in list(arguments.items())[1:6]]
    return [one for one in made if one]


def _arguments(text: str) -> dict[str, str]:
    """The scalar values of a JSON object by key; empty when `text` is none."""
    if not text.startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # not JSON, or nested deeper than the parser goes
        return {}
    return {key: str(item) for key, item in value.items() if isinstance(item, (str, int, float, list)) and str(item).strip()}


def _plain(action: str, max_chars: int) -> list[Triple]:
    """`take soapbar 1 from sinkbasin 1` and `click [96] where [96] is link 'Home'`; a lone word is something done."""
    words = action.strip()
    match = _PLAIN.fullmatch(words)
    if match is None or not words[:1].isalpha():
        return [one for one in [triple(AGENT, "does", words, max_chars)] if one]
    verb, rest = match["verb"], match["object"]
    if where := _WHERE.search(rest):
        made = [
            triple(AGENT, verb, rest[: where.start()], max_chars),
            triple(where["head"], "is", rest[where.end() :], max_chars),
        ]
    elif place := _PREPOSITION.search(rest):
        thing = rest[: place.start()]
        made = [triple(AGENT, verb, thing, max_chars), triple(thing, f"{verb} {place[1]}", rest[place.end() :], max_chars)]
    else:
        made = [triple(AGENT, verb, rest, max_chars)]
    return [one for one in made if one]
