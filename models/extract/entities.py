"""What a text is about, by rule: names, and the words that carry meaning, normalised so that equal things are equal strings.

    entities("I took the kids to the Grand Canyon!", 16)  # ("grand canyon", "kid", "grand", "canyon", "took")

Names come first. A script without capitals has no names by this rule, but its words count like all others: words that are
too common to tell anything apart lose their links later, by how often the episode uses them (`event_links.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from storage.structures.lexical import content_tokens

_WORD = re.compile(r"\w[\w-]*")
_INSIDE = frozenset({"of", "the", "de", "la", "von", "van", "and"})
"""Small words that a name may hold between two capitalised ones."""

_CONTRACTION = re.compile(r"[’'](?:s|t|m|re|ve|ll|d)\b", re.IGNORECASE)
_CHAT = frozenset(
    """
    ah awesome aw bye cool definitely especially even ever every feel felt get getting give glad go going gonna good
    got great haha hear hello hey hi hope huh keep kind know last let like lot lots love make makes making maybe much
    need new nice oh okay one people pretty really right say see something sound sounds still stuff sure take thank
    thanks thing things think time today totally try trying use want way well work wow yeah yep yes yet yup
    """.split()
)
"""English words that conversations use all the time; they say nothing about a topic."""


def entities(text: str, limit: int) -> tuple[str, ...]:
    """At most `limit` distinct entities of `text`: its names in reading order, then its words, the long ones first."""
    text = _CONTRACTION.sub("", text)
    words = dict.fromkeys(_singular(word) for word in content_tokens(text) if _tells(word))
    ranked = sorted(words, key=len, reverse=True)  # stable: equal lengths stay in reading order
    return tuple(dict.fromkeys((*_names(text), *ranked)))[:limit]


def _names(text: str) -> Iterator[str]:
    """Runs of two or more capitalised words with nothing but a space, or a small word, between them."""
    run: list[str] = []
    end = 0
    for match in _WORD.finditer(text):
        word = match.group()
        joined = run and text[end : match.start()] == " "
        if joined and (word[0].isupper() or word in _INSIDE):
            run.append(word)
        else:
            yield from _name(run)
            run = [word] if word[0].isupper() else []
        end = match.end()
    yield from _name(run)


def _name(run: list[str]) -> Iterator[str]:
    while run and run[-1] in _INSIDE:
        run.pop()
    if len(run) > 1:
        yield " ".join(run).casefold()


def _tells(word: str) -> bool:
    """Whether a word may name something: not a filler, not a short number, not a lone Latin letter or two."""
    if word in _CHAT:
        return False
    return len(word) > 2 or not word.isascii()


def _singular(word: str) -> str:
    """`kids` as `kid`, `hobbies` as `hobby`: English plurals only, other words unchanged."""
    if len(word) > 3 and word.isascii() and word.isalpha():
        if word.endswith("ies"):
            return f"{word[:-3]}y"
        if word.endswith("s") and not word.endswith(("ss", "us", "is")):
            return word[:-1]
    return word
