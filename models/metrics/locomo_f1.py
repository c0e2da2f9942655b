"""LoCoMo's official answer metric: stemmed token F1 with a rule per question category.

Source: the benchmark's `task_eval/evaluation.py` (FACTS.md section 12). Latin text is scored exactly as there, which the
test on 1,540 real answers checks to four places; words of scripts without spaces are split first (`overlap`).
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from functools import cache, lru_cache

from models.metrics.overlap import bag_f1, words
from storage.records import ABSTENTION

_ARTICLES = re.compile(r"\b(a|an|the|and)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ABSTAINS = (ABSTENTION.lower(), "not mentioned")


def locomo_f1(prediction: str, gold: str | int, capability: str) -> float:
    """The score in [0, 1] of one answer.

    - `multi_hop` (category 1): both texts are split at commas; mean over gold parts of the best F1 of a predicted part.
    - `open_domain` (3): only the gold text before its first `;` counts.
    - `adversarial` (5): 1 when the answer says that there is no information, by two fixed phrases; the gold is not read.
    - `temporal` (2), `single_hop` (4) and every other capability: plain F1.
    """
    gold = str(gold)
    if capability == "adversarial":
        lowered = prediction.lower()
        return float(any(phrase in lowered for phrase in _ABSTAINS))
    if capability == "multi_hop":
        return _best_parts(prediction, gold)
    if capability == "open_domain":
        gold = gold.split(";", 1)[0]
    return bag_f1(stems(prediction), stems(gold))


def _best_parts(prediction: str, gold: str) -> float:
    predicted = [stems(part) for part in prediction.split(",")]
    golds = [stems(part) for part in gold.split(",")]
    return sum(max(bag_f1(part, wanted) for part in predicted) for wanted in golds) / len(golds)


def stems(text: str) -> list[str]:
    """Porter stems of `text` without commas, case, ASCII punctuation and the words a, an, the, and; in order."""
    bare = text.replace(",", "").lower().translate(_NO_PUNCTUATION)
    return [_stem(word) for word in words(_ARTICLES.sub(" ", bare))]


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer  # slow to import, and most commands score nothing

    stem: Callable[[str], str] = PorterStemmer().stem
    return stem
