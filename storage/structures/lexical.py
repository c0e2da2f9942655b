"""How text becomes tokens for lexical matching: words in any script, and character pairs where words have no spaces."""

from __future__ import annotations

import re
import unicodedata


def _marks() -> str:
    """Combining marks of the basic plane: vowel signs and accents are part of a word, which `\\w` denies."""
    return "".join(chr(i) for i in range(0x300, 0x10000) if unicodedata.category(chr(i)) in ("Mn", "Mc"))


_EMOJI = "[\u2190-\u21ff\u2600-\u27bf\U0001f000-\U0001faff]"
_WORD = re.compile(rf"\w[\w{_marks()}]*|{_EMOJI}")
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]+"
)
"""Scripts written without spaces (Thai, Lao, Khmer, Japanese, Chinese): one run would be one useless token."""

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both but by can
    could did do does doing done during each few for from further had has have having he her here hers him his how
    i if in into is it its itself just let me more most my no nor not now of off on once only or other our out
    over own s same she should so some such t than that the their them then there these they this those through to
    too under until up upon us very was we were what when where which while who whom whose why will with would you
    your
    """.split()
)


def tokens(text: str) -> list[str]:
    """Lower-cased tokens of `text`, in order, repeats kept.

    Words and numbers of any script; a run of an unspaced script gives its overlapping character pairs (a lone character
    stands for itself). `snake_case` stays one word.
    """
    folded = text.casefold()
    if folded.isascii():  # most texts; no unspaced script, so nothing to split
        return _WORD.findall(folded)
    found: list[str] = []
    for word in _WORD.findall(folded):
        if word.isascii():
            found.append(word)
        else:
            found.extend(_split_unspaced(word))
    return found


def _split_unspaced(word: str) -> list[str]:
    parts: list[str] = []
    at = 0
    for run in UNSPACED.finditer(word):
        if run.start() > at:
            parts.append(word[at : run.start()])
        characters = run.group()
        parts.extend([characters[i : i + 2] for i in range(len(characters) - 1)] or [characters])
        at = run.end()
    if at < len(word):
        parts.append(word[at:])
    return parts


def content_tokens(text: str) -> list[str]:
    """`tokens` without English stop words."""
    return [token for token in tokens(text) if token not in STOP_WORDS]
