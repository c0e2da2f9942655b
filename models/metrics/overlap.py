"""What the token metrics share: words in any script, and the F1 of two bags of words. Not a metric by itself.

The official metrics split text at white space. That is right for Latin text, which they are left to score exactly, but a
Chinese or Thai sentence would be one token and every answer 0 or 1. Only a word that holds such a script is split further,
into overlapping character pairs (`storage.structures.lexical`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from storage.structures import lexical

_FOREIGN_MARKS = "\u060c\u061b\u061f\u06d4\u0964"
"""Arabic comma, semicolon, question mark and full stop, and the danda: the official rules strip ASCII punctuation only."""


def words(normalised: str) -> list[str]:
    """The tokens of normalised text: its white-space words, and character pairs where a script has no spaces."""
    found: list[str] = []
    for word in normalised.split():
        if word.isascii():
            found.append(word)
        elif lexical.UNSPACED.search(word):
            found.extend(lexical.tokens(word))
        else:
            found.append(word.strip(_FOREIGN_MARKS) or word)
    return found


def bag_f1(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of two bags of tokens, repeats counted; 0 when they share none."""
    shared = sum((Counter(predicted) & Counter(gold)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(gold)
    return 2 * precision * recall / (precision + recall)
