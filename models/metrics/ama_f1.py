"""AMA-Bench's token F1: no stemming, punctuation becomes a space, a / an / the are dropped, repeats count.

Source: the benchmark's `utils/evaluation_metrics.py` (FACTS.md section 6). Words of scripts without spaces are split into
character pairs first (`overlap`).
"""

from __future__ import annotations

import re

from models.metrics.overlap import bag_f1, words

_PUNCTUATION = re.compile(r"[^\w\s]")
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def ama_f1(prediction: str, gold: str | int, capability: str = "") -> float:
    """The score in [0, 1] of one answer; 1 when both texts are empty. The rule is the same for every capability.

    Where neither text has a word, as "🦊" and "🐻" or "++" and "--", the marks decide: by words alone they are equal.
    """
    predicted, wanted = normalised_words(prediction), normalised_words(str(gold))
    if not predicted and not wanted:
        return float(marks(prediction) == marks(str(gold)))
    return bag_f1(predicted, wanted)


def normalised_words(text: str) -> list[str]:
    """Lower-cased words of `text` without punctuation and articles, in order."""
    return words(_ARTICLES.sub(" ", _PUNCTUATION.sub(" ", text.lower())))


def marks(text: str) -> str:
    """What is no word in `text`, in order: emoji, operators, punctuation."""
    return "".join(_PUNCTUATION.findall(text))
