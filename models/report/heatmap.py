"""Shares in [0, 1] as a heat map with the number in every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from models.report.scatter import short
from models.report.svg import ACCENT, BRIGHT_INK

ROW_HEIGHT = 0.25
"""Inches."""

_LONGEST_ROW = 44
_STRONGEST = 0.62
"""Opacity of a share of 1: on light and on dark pages the number is still easy to read."""


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One row; `shares` in the order of the columns. A row that is `apart` has a gap before it."""

    name: str
    shares: tuple[float, ...]
    apart: bool = False


def height(rows: Sequence[HeatRow]) -> float:
    """Inches that the map needs."""
    return 0.55 + ROW_HEIGHT * len(rows)


def heatmap(axes: Any, columns: Sequence[str], rows: Sequence[HeatRow]) -> None:
    """Draw the rows from the top, the names of the columns above them."""
    from matplotlib.patches import Rectangle

    tops: list[float] = []
    for row in rows:
        tops.append((tops[-1] + 1 if tops else 0.0) + (0.3 if row.apart and tops else 0.0))
    for top, row in zip(tops, rows, strict=True):
        for left, share in enumerate(row.shares):
            axes.add_patch(
                Rectangle((left + 0.02, top + 0.05), 0.96, 0.9, facecolor=ACCENT, alpha=_STRONGEST * share, linewidth=0)
            )
            axes.text(left + 0.5, top + 0.5, f"{100 * share:.0f}", ha="center", va="center", color=BRIGHT_INK, fontsize=8.5)
    axes.set_xlim(0, len(columns))
    axes.set_ylim((tops[-1] if tops else 0) + 1, 0)
    axes.set_xticks([i + 0.5 for i in range(len(columns))], [short(name, 16) for name in columns])
    axes.set_yticks([top + 0.5 for top in tops], [short(row.name, _LONGEST_ROW) for row in rows])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
