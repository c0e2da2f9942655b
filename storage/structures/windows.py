"""Overlapping windows of whole turns (MESA App. A.1, raw episodic memory).

w = clip(ceil(L / 12), 3, 16), overlap d = round(w / 4), stride w - d, for an episode of L turns. The paper leaves open how a
half is rounded: here it goes up (w 10 gives d 3, where Python's `round` gives 2).
"""

from __future__ import annotations

import math


def window_size(n_steps: int, parts: int = 12, smallest: int = 3, largest: int = 16) -> int:
    """w: an episode in about `parts` windows, of `smallest` to `largest` turns."""
    return max(smallest, min(largest, math.ceil(n_steps / parts)))


def window_overlap(size: int, share: float = 0.25) -> int:
    """d: `share` of a window, half up, and less than the window."""
    return min(math.floor(share * size + 0.5), size - 1)


def windows(n_steps: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """(start, stop) positions in time order. The last window ends at the last step; none lies inside another."""
    found: list[tuple[int, int]] = []
    start = 0
    while start < n_steps:
        stop = min(start + size, n_steps)
        found.append((start, stop))
        if stop == n_steps:
            break
        start += size - overlap
    return found
