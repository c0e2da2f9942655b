"""Text as the extractive answerer compares it: sentences, and crude stems of content words."""

from __future__ import annotations

import functools
import re

from storage.structures.lexical import content_tokens

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_MAX_SENTENCE = 400
"""A longer one is raw output (a page, a file): it is cut into pieces of this many characters."""
_SUFFIX = re.compile(r"(?:ies|ied|ing|ed|es|s|ly|e|y)$")


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text, without empty ones."""
    found: list[str] = []
    for sentence in _SENTENCE_END.split(text):
        found.extend(sentence[i : i + _MAX_SENTENCE].strip() for i in range(0, len(sentence), _MAX_SENTENCE))
    return [sentence for sentence in found if sentence]


@functools.lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A crude stem: one ending off, doubled last letter single. Enough to match `hikes`, `hiking` and `hiked`."""
    bare = _SUFFIX.sub("", word) if len(word) > 3 and word.isalpha() else word
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


def stems(text: str) -> list[str]:
    """Stems of the content words of `text`, in order."""
    return [stem(word) for word in content_tokens(text)]
