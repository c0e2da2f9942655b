"""Exact match after AMA-Bench's normalisation: case, punctuation, articles and spacing do not count, word order does."""

from __future__ import annotations

from models.metrics.ama_f1 import marks, normalised_words


def exact_match(prediction: str, gold: str | int, capability: str = "") -> float:
    """1.0 when both texts have the same normalised words (without any: the same marks), else 0.0, for every capability."""
    predicted, wanted = normalised_words(prediction), normalised_words(str(gold))
    return float(predicted == wanted and (bool(wanted) or marks(prediction) == marks(str(gold))))
