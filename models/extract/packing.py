"""Packing consecutive steps into prompts: whole steps, as many as fit."""

from __future__ import annotations

from collections.abc import Sequence


def pack(sizes: Sequence[int], limit: int) -> list[range]:
    """Consecutive groups of positions whose sizes together are at most `limit`; one larger than that stands alone."""
    groups: list[range] = []
    start, used = 0, 0
    for at, size in enumerate(sizes):
        if at > start and used + size > limit:
            groups.append(range(start, at))
            start, used = at, 0
        used += size
    return [*groups, range(start, len(sizes))] if sizes else []


def split(text: str, limit: int, overlap: int) -> list[str]:
    """Pieces of `text` of at most `limit` characters, each beginning with the last `overlap` of the one before."""
    stride = limit - overlap
    if stride <= 0:
        raise ValueError(f"pieces of {limit} characters cannot overlap by {overlap}")
    return [text[at : at + limit] for at in range(0, max(len(text) - overlap, 1), stride)]
