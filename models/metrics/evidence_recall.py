"""Evidence recall: the share of a question's gold evidence steps that an access found."""

from __future__ import annotations

from collections.abc import Collection


def evidence_recall(found: Collection[int], gold: Collection[int]) -> float | None:
    """Share in [0, 1] of the distinct step labels in `gold` that are in `found`; None when `gold` is empty.

    A question without resolvable gold evidence says nothing about a retriever. The official LoCoMo code scores it 1, which
    inflates the mean (FACTS.md section 15, trap 19); here it is left out of means.
    """
    wanted = frozenset(gold)
    if not wanted:
        return None
    return len(wanted.intersection(found)) / len(wanted)
