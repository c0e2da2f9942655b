"""Radar plots in the manner of MESA's Fig. 2: one axis per category, one dot per subset, lines for what is compared.

Every axis has its own scale, from nothing to its highest score: what is best where shows, however hard a category is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.report.scatter import short
from models.report.svg import ACCENT, INK, SERIES

FEWEST_AXES = 3
_NARROW = 0.7
"""From this lowest share of the highest score on, the centre is not 0: lines would lie on each other."""

_RIM = 1.06


@dataclass(frozen=True, slots=True)
class Spoke:
    """One category: `values` in percent by subset, and which of them is the highest."""

    name: str
    best: str
    values: Mapping[str, float]

    @property
    def label(self) -> str:
        """Two lines: the category, and its best subset with the score."""
        return f"{short(self.name)}\n{self.best} {self.values[self.best]:.1f} %"

    def share(self, subset: str) -> float:
        """A subset's score as a share of the highest, NaN where it has none."""
        top = self.values[self.best]
        return self.values.get(subset, math.nan) / top if top > 0 else 1.0


def centre(spokes: Sequence[Spoke]) -> float:
    """The share of the highest score that the centre stands for: 0 unless all subsets are close to the best."""
    low = min(spoke.share(subset) for spoke in spokes for subset in spoke.values)
    return 0.0 if low < _NARROW else max(0.0, math.floor(20 * (low - 0.3 * (1 - low)) - 1e-9) / 20)


def radar(axes: Any, spokes: Sequence[Spoke], lines: Sequence[str], everything: str) -> None:
    """Draw at least three spokes on polar axes: a line for each of `lines` and for `everything`, a star for the best.

    Every other subset is a grey dot.
    """
    angles = [2 * math.pi * i / len(spokes) for i in range(len(spokes))]
    _frame(axes, spokes, angles)
    for spoke, angle in zip(spokes, angles, strict=True):
        shares = [spoke.share(subset) for subset in spoke.values]
        axes.scatter([angle] * len(shares), shares, s=9, color=INK, alpha=0.45, linewidths=0, zorder=2)
    for name, (colour, marker) in zip(lines, SERIES, strict=False):
        _line(axes, spokes, angles, name, name, color=colour, marker=marker, markersize=4, linewidth=1.1)
    if everything not in lines:
        _line(axes, spokes, angles, everything, "all structures", color=INK, linestyle=(0, (4, 2)), linewidth=1.5)
    star = {"s": 110, "marker": "*", "color": ACCENT, "edgecolors": INK, "linewidths": 0.6, "zorder": 5}
    axes.scatter(angles, [1.0] * len(angles), label="highest score", **star)
    axes.figure.legend(
        loc="outside lower center", ncols=len(lines) + 2, labelcolor=INK, handletextpad=0.4, columnspacing=1.2
    )


def _frame(axes: Any, spokes: Sequence[Spoke], angles: Sequence[float]) -> None:
    """Scale, rings and the labels of the axes, which stand outside the circle on their own side."""
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    low = centre(spokes)
    rim = low + _RIM * (1 - low)
    axes.set_rlim(low, rim)
    axes.set_xticks(angles, [""] * len(angles))
    axes.set_axisbelow(True)
    axes.spines["polar"].set_alpha(0.35)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_rlabel_position(180 / len(spokes))
    axes.tick_params(axis="y", labelsize=7.5)
    for spoke, angle in zip(spokes, angles, strict=True):
        side, height = math.sin(angle), math.cos(angle)
        horizontal = "center" if abs(side) < 0.2 else "left" if side > 0 else "right"
        vertical = "center" if abs(height) < 0.3 else "bottom" if height > 0 else "top"
        axes.text(angle, low + _RIM * (rim - low), spoke.label, ha=horizontal, va=vertical, linespacing=1.25)


def _line(axes: Any, spokes: Sequence[Spoke], angles: Sequence[float], subset: str, label: str, **style: Any) -> None:
    """A closed line through the scores of one subset; open where a category has none."""
    shares = [spoke.share(subset) for spoke in spokes]
    axes.plot([*angles, angles[0]], [*shares, shares[0]], label=label, zorder=3, **style)
