"""What a rule yields: a (head, relation, tail) of short texts."""

from __future__ import annotations

from typing import NamedTuple

_EDGES = " \t\n\r.,;:!-–—|*"


class Triple(NamedTuple):
    """One relation as text, not yet anchored at a step."""

    head: str
    relation: str
    tail: str


def triple(head: str, relation: str, tail: str, max_chars: int) -> Triple | None:
    """The parts trimmed and cut to `max_chars` characters with a visible mark; None when one of them is empty."""
    parts = [_part(text, max_chars) for text in (head, relation, tail)]
    return Triple(*parts) if all(parts) else None


def _part(text: str, max_chars: int) -> str:
    words = " ".join(text[: 4 * max_chars].split()).strip(_EDGES)
    return words if len(words) <= max_chars else f"{words[: max_chars - 1].rstrip()}…"
