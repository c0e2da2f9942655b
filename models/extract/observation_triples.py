"""Triples from what an agent observes: states, contents, positions, page elements, code, errors, and plain sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from models.extract.action_triples import AGENT, PATH
from models.extract.pieces import reports_trouble
from models.extract.triple_text import Triple, triple
from storage.structures.lexical import content_tokens

_ITEM = re.compile(
    r"""['"](?P<key>[\w .-]{1,40})['"]\s{0,3}:\s{0,3}"""
    r"""(?P<value>'[^']{1,200}'|"[^"]{1,200}"|\[\[.{1,200}?\]\]|\[[^\[\]]{1,200}\]|-?[\w.+]{1,40})"""
)
_ELEMENT = re.compile(r"\W{0,3}\[(?P<id>\d{1,9})\] (?P<role>\w+) (?P<name>'[^']+'.*|\"[^\"]+\".*)")
_GREP = re.compile(r"(?P<file>[\w./+-]{1,200}\.\w{1,8}):(?P<line>\d{1,7})[:-](?P<text>.+)")
_DEFINES = re.compile(
    r"(?:^|\W)(?P<kind>def|class|function|create table|create or replace table) (?P<name>[\w.\"]+)\s?[(:{]", re.IGNORECASE
)
_CONTAINS = re.compile(r"(?:on|in) the (?P<place>[^,]{1,60}), you see (?P<things>.+)", re.IGNORECASE)
_YOU = re.compile(r"you (?P<verb>\w+(?: (?:up|down|at|to|off))?) (?:the )?(?P<thing>.+)", re.IGNORECASE)
_PLACE = re.compile(r" (?P<word>from|to|into|in/on|in|on|with|at) (?:the |your )?")
_POSITION = re.compile(
    r"\W{0,3}(?P<thing>\w[\w `'-]{0,60}?) (?P<where>(?:\d+ steps?|very near|very far|near|far|adjacent|just)\b.{1,120})"
)
_STATE = re.compile(r"\W{0,3}(?P<key>[^\W\d][\w /().-]{0,40}?)\s?[:=]\s(?P<value>.+)")
_IS = re.compile(r"(?:the )?(?P<thing>\w[\w' -]{0,60}?) (?P<verb>is|are|was|were|has|have|contains) (?P<what>.+)", re.I)
_SENTENCE = re.compile(r"(?<=[.!?]) |(?<=[。！？])")


def observation_triples(line: str, source: str, max_chars: int) -> Iterator[Triple]:
    """The relations that one line of an observation states; `source` names where the line was seen."""
    if reports_trouble(line) and (made := triple(source, "error", line, max_chars)):
        yield made
        return
    items = [triple(m["key"], "is", m["value"].strip("'\""), max_chars) for m in _ITEM.finditer(line)] if ":" in line else []
    if items:
        yield from (item for item in items if item)
        return
    if made := _code(line, source, max_chars):
        yield made
        return
    for sentence in _SENTENCE.split(line):
        if made := _statement(sentence, max_chars) or _mention(sentence, source, max_chars):
            yield made


def _code(line: str, source: str, max_chars: int) -> Triple | None:
    """Page elements, search hits and definitions."""
    if match := _ELEMENT.match(line):
        return triple(f"[{match['id']}]", match["role"], match["name"], max_chars)
    if match := _GREP.match(line):
        return triple(match["file"], f"line {match['line']}", match["text"], max_chars)
    if match := _DEFINES.search(line):
        return triple(source, f"defines {match['kind'].casefold()}", match["name"].strip('"'), max_chars)
    return None


def _statement(sentence: str, max_chars: int) -> Triple | None:
    """What a sentence says of something: contents, the agent's own doing, a position, a state, a property."""
    if match := _CONTAINS.match(sentence):
        return triple(match["place"], "contains", match["things"], max_chars)
    if match := _YOU.match(sentence):
        place = _PLACE.search(match["thing"])
        if place is None:
            return triple(AGENT, match["verb"], match["thing"], max_chars)
        thing, where = match["thing"][: place.start()], match["thing"][place.end() :]
        return triple(thing, f"{match['verb']} {place['word']}", where, max_chars)
    if match := _POSITION.fullmatch(sentence):
        return triple(match["thing"], "is at", match["where"], max_chars)
    if match := _STATE.fullmatch(sentence):
        return triple(match["key"], "is", match["value"], max_chars)
    if match := _IS.match(sentence):
        return triple(match["thing"], match["verb"].casefold(), match["what"], max_chars)
    return None


def _mention(sentence: str, source: str, max_chars: int) -> Triple | None:
    """A file path, or any sentence with something in it, as seen at `source`."""
    if match := PATH.search(sentence):
        return triple(source, "shows file", match.group(), max_chars)
    return triple(source, "shows", sentence, max_chars) if len(content_tokens(sentence)) >= 2 else None
