"""Ordinals before a keyword: "the third step", "the first two actions", "the second and fifth turns", "second-to-last step".

They count positions. An ordinal that asks for a step or only describes one is no reference: "the last step where ...",
"what was the last step the agent took", "as a first step", "the third action at step 7".
"""

from __future__ import annotations

from storage.structures.lexical import STOP_WORDS
from storage.structures.step_tokens import AND, LABELS, TO, Reader

Slice = tuple[int, int | None]
"""Start and stop of positions as in a Python slice."""

_FIRST = frozenset({"first", "initial", "opening"})
LAST = frozenset({"last", "final", "latest"})
_NO_DETERMINER = frozenset({"a", "an", "as", "what", "which"})
_RELATIVE = frozenset({"where", "when", "that", "which", "whose", "before", "after", "since", "until", "prior", "to"})
_CLAUSE_TOKENS = 8


def ordinal_slices(reader: Reader, keyword: int) -> list[Slice]:
    """The positions that the ordinals before the keyword at token `keyword` name; empty where there are none."""
    place = keyword - 1
    count = reader.count(place)
    if reader.words(place - 1, place) == ("couple", "of"):
        count, place = 2, place - 1
    plural = reader.is_plural(keyword)
    slices = _counted(reader, place - 1, count) if count else _single(reader, place, plural=plural)
    return [] if slices and _is_described(reader, keyword) else slices


def _counted(reader: Reader, i: int, count: int) -> list[Slice]:
    """ "The first two", "the last 5"."""
    word = reader.at(i).text
    if not _is_determined(reader, i):
        return []
    if word in LAST:
        return [(-count, None)]
    return [(0, count)] if word in _FIRST else []


def _single(reader: Reader, i: int, *, plural: bool) -> list[Slice]:
    last = _position(reader, i)
    if last is None:
        return []
    if reader.at(i).text in LAST:
        joint, ordinal = _backwards(reader, i - 1, 2)
        if reader.at(joint).text == "to":  # "second to last", "second-to-last", "next to last"
            n = 2 if reader.at(ordinal).text == "next" else reader.at(ordinal).value
            return [(-n, 1 - n)] if n > 1 else []
    joint_word, first = reader.at(i - 1).text, _position(reader, i - 2)
    if first is not None and (joint_word in AND or joint_word in TO) and _is_determined(reader, i - 2):
        return [(first, _slice(last)[1])] if joint_word in TO else [_slice(first), _slice(last)]
    return [_slice(last)] if _is_determined(reader, i) and not plural else []


def _position(reader: Reader, i: int) -> int | None:
    token = reader.at(i)
    if token.text in LAST:
        return -1
    if token.text in _FIRST:
        return 0
    if token.text == "penultimate":
        return -2
    return token.value - 1 if token.kind == "ordinal" and token.value > 0 else None


def _slice(position: int) -> Slice:
    return position, None if position == -1 else position + 1


def _backwards(reader: Reader, i: int, count: int) -> list[int]:
    """The places of `count` tokens from `i` backwards, dashes skipped."""
    places: list[int] = []
    while len(places) < count:
        if reader.at(i).kind != "dash":
            places.append(i)
        i -= 1
    return places


def _is_determined(reader: Reader, i: int) -> bool:
    """Whether a determiner, a preposition, a possessive or nothing stands before: "the first step", not "a first step"."""
    before = reader.at(i - 1)
    if before.text in ("very", "single") and reader.at(i - 2).text == "the":
        return True
    if before.text == "s":
        return reader.at(i - 2).text in ("'", "’")
    return before.kind != "word" or (before.text in STOP_WORDS and before.text not in _NO_DETERMINER)


def _is_described(reader: Reader, keyword: int) -> bool:
    """Whether the words after the keyword say which step is meant, up to the next mark."""
    i = keyword + 2 if reader.at(keyword + 1).text in LABELS else keyword + 1
    if reader.at(i).text in ("(", "at", "in") and (reader.is_keyword(i + 1) or reader.is_keyword(i + 2)):
        return True
    for k in range(i, i + _CLAUSE_TOKENS):
        if reader.at(k).kind in ("mark", "end"):
            break
        if reader.at(k).text in _RELATIVE:
            return True
    asked = any(reader.at(k).text in ("is", "was", "were", "are") for k in range(keyword - 5, keyword))
    return asked and reader.at(i).kind == "word" and reader.at(i).text not in ("in", "of", "at")
