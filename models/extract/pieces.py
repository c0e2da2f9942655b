"""A step as short verbatim pieces, each with what it is (action, error, result, speech) and the words it carries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from storage.structures.lexical import content_tokens
from storage.structures.render import DIALOGUE, StepRow, cut

_ENDINGS = ("error", "exception")
_PHRASES = (
    "traceback|failed|failure|not found|no such|invalid|denied|cannot|can't|unable to|nothing happens|refused|timed out"
).split("|")
_REPORT = re.compile(rf"\b(?:\w*(?:{'|'.join(_ENDINGS)})|{'|'.join(_PHRASES)}|exit code [1-9])\b", re.IGNORECASE)
"""Words that report trouble in tools, shells, games and web pages."""

_SIGNS = (*_ENDINGS, *_PHRASES, "exit code ")
_OWN_KEY = re.compile(r"(?!turn[ _]id)[A-Za-z][\w -]{0,30}: \S", re.IGNORECASE)
_NUMBERED_BLANK = re.compile(r"\s*\d+\t\s*")
"""An empty line of a file as a viewer shows it: nothing but its number."""


@dataclass(frozen=True, slots=True)
class Piece:
    """At most a few hundred characters of a step, verbatim but for white space.

    `key` is the label to show it under; empty when the text brings its own (`Score: 6`). `line` numbers the source line.
    `weights` maps each content token to its worth.
    """

    key: str
    text: str
    line: int
    weights: Mapping[str, float]
    is_action: bool = False
    is_error: bool = False


def step_pieces(row: StepRow, max_chars: int, scan_chars: int, precise_weight: float) -> Iterator[Piece]:
    """The pieces of a step in reading order: the action first (one piece, cut with a marker), then what was observed."""
    speech = row.action == DIALOGUE
    action = squeeze(row.action[:scan_chars])
    if action and not speech:
        for number, text in enumerate(_cuts(action, max_chars * 2)):
            yield Piece("action", text, 0, _weights(text, precise_weight), is_action=number == 0)
    for line, text in split_lines(row.observation, max_chars, scan_chars):
        weights = _weights(text, precise_weight)
        if not weights:
            continue
        is_error = not speech and reports_trouble(text)
        key = (row.speaker or "speaker") if speech else "error" if is_error else "" if _OWN_KEY.match(text) else "result"
        yield Piece(key, text, line, weights, is_error=is_error)


def reports_trouble(text: str) -> bool:
    """Whether a text says that something went wrong."""
    if text.isascii() and not _has_sign(text.lower()):  # nearly all texts, at a tenth of the pattern's cost
        return False
    return _REPORT.search(text) is not None


def _has_sign(lower: str) -> bool:
    return any(sign in lower for sign in _SIGNS)


def split_lines(text: str, max_chars: int, scan_chars: int) -> Iterator[tuple[int, str]]:
    """(line number, piece) for the lines of `text`, white space squeezed, long lines cut to at most `max_chars`.

    Of a text longer than `scan_chars` only the first three quarters and the last quarter of so many characters are read,
    so that one huge observation costs no more than others.
    """
    if len(text) > scan_chars:
        tail = scan_chars // 4
        text = f"{text[: scan_chars - tail]}\n{text[-tail:]}"
    for number, line in enumerate(text.splitlines()):
        words = squeeze(line)
        if words and not _NUMBERED_BLANK.fullmatch(line):
            for piece in _cuts(words, max_chars):
                yield number, piece


def _cuts(line: str, max_chars: int) -> Iterator[str]:
    """`line` in pieces of at most `max_chars`, cut after a sentence, a comma or a word in the second half of a piece."""
    at = 0
    while len(line) - at > max_chars:
        half, limit = at + max_chars // 2, at + max_chars
        end = next(
            (e for mark in (". ", "! ", "? ", "。", "; ", ", ", " ") if (e := line.rfind(mark, half, limit)) >= 0), -1
        )
        end = limit if end < 0 else end + 1
        yield line[at:end].strip()
        at = end
    if line[at:].strip():
        yield line[at:].strip()


def _weights(text: str, precise_weight: float) -> dict[str, float]:
    """Content tokens with their worth: numbers and identifiers cannot be guessed and must be read, so they weigh more."""
    return {token: 1.0 if token.isalpha() else precise_weight for token in content_tokens(text)}


def one_line(text: str, max_chars: int) -> str:
    """`text` on one line, cut with a marker."""
    return cut(squeeze(text[: max_chars * 4]), max_chars)


def squeeze(text: str) -> str:
    """`text` with one space for each run of white space, and none at its ends."""
    return " ".join(text.split())
