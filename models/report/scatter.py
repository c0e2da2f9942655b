"""Score against evidence tokens as a scatter plot: the frontier in colour, intervals, and labels that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from models.aggregate import pareto_frontier
from models.report.svg import ACCENT, INK
from models.report.tables import plain

_POINT = "#8f97a3"
_ALL_LABELLED = 12
_LONGEST_LABEL = 30
_LOG_SPREAD = 8.0
"""From this ratio of the largest to the smallest token count on, the axis is logarithmic."""


@dataclass(frozen=True, slots=True)
class Point:
    """One policy in the plot; `score` and `interval` in percent."""

    name: str
    tokens: float
    score: float
    interval: tuple[float, float] | None = None
    chosen: bool = False


def frontier(points: Sequence[Point]) -> list[Point]:
    """The points that no other one beats in score and tokens."""
    return [points[i] for i in pareto_frontier([(p.tokens, p.score) for p in points])]


def short(name: str, longest: int = _LONGEST_LABEL) -> str:
    """A name as a label in a figure: one line, cut where it would be too long."""
    name = plain(name)
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def scatter(axes: Any, points: Sequence[Point], score_label: str, careful: bool = False) -> None:
    """Draw the points; `score_label` names the vertical axis.

    Of a crowd only the frontier and the chosen are labelled. A `careful` plot also names others that have room beside them,
    and keeps labels off the frontier's line.
    """
    best = frontier(points)
    axes.grid(True)
    axes.set_axisbelow(True)
    _token_axis(axes, [point.tokens for point in points])
    axes.set_xlabel("evidence tokens per question")
    axes.set_ylabel(plain(score_label))
    axes.plot([p.tokens for p in best], [p.score for p in best], color=ACCENT, linewidth=1.2, alpha=0.8, zorder=2)
    for point in points:
        on = point in best
        colour, size = (ACCENT, 36) if on else (_POINT, 26)
        if point.interval:
            axes.vlines(point.tokens, *point.interval, color=colour, linewidth=0.9, alpha=0.45, zorder=2)
        axes.scatter([point.tokens], [point.score], s=size, color=colour, zorder=3)
        if point.chosen:
            axes.scatter([point.tokens], [point.score], s=120, facecolors="none", edgecolors=ACCENT, zorder=3)
    axes.margins(x=0.08, y=0.1)
    _label(axes, points, best, careful)


def _token_axis(axes: Any, tokens: Sequence[float]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if min(tokens) > 0 and max(tokens) / min(tokens) >= _LOG_SPREAD:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


_Place = tuple[int, int, str, str]
"""Offset of a label from its point in points, horizontal and vertical alignment."""

_PLACES: tuple[_Place, ...] = (  # beside a rising frontier line first, so that labels do not cross it
    (-7, 5, "right", "bottom"),
    (7, -5, "left", "top"),
    (7, 5, "left", "bottom"),
    (-7, -5, "right", "top"),
    (0, 9, "center", "bottom"),
    (0, -9, "center", "top"),
    (26, -30, "left", "top"),  # from here on with a leader line
    (-26, 30, "right", "bottom"),
    (34, -64, "left", "top"),
    (-34, 64, "right", "bottom"),
)
_LEADER = 12
_DIRECT = 6
"""As many places need no leader line."""

_STEPS = tuple(i / 40 for i in range(1, 40))


def _label(axes: Any, points: Sequence[Point], best: Sequence[Point], careful: bool) -> None:
    """Name the points: chosen and frontier first. A label that fits nowhere is left out; the table has every name."""
    axes.figure.draw_without_rendering()  # fixes the layout, so that label boxes can be compared
    taken = [_around(axes, point.tokens, point.score) for point in points]
    if careful:
        taken += _along(axes, best)
    crowded = len(points) > _ALL_LABELLED
    for point in sorted(points, key=lambda p: (not p.chosen, p not in best)):
        if not crowded or point.chosen or point in best:
            _place(axes, point, taken, _PLACES)
        elif careful:
            _place(axes, point, taken, _PLACES[:_DIRECT])


def _place(axes: Any, point: Point, taken: list[Any], places: Sequence[_Place]) -> None:
    """Write the name at the first free place and add its box to `taken`; a chosen point is named in any case."""
    boxes = [_box(axes, point, place) for place in places]
    room = axes.bbox.padded(4)
    clashes = [
        sum(map(box.overlaps, taken)) if room.contains(box.x0, box.y0) and room.contains(box.x1, box.y1) else len(taken)
        for box in boxes
    ]
    place = clashes.index(min(clashes))
    if clashes[place] and not point.chosen:
        return
    taken.append(boxes[place])
    _write(axes, point, places[place])
    if abs(places[place][0]) > _LEADER:
        line = {"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 6}
        at = (point.tokens, point.score)
        axes.annotate("", at, xytext=places[place][:2], textcoords="offset points", arrowprops=line)


def _box(axes: Any, point: Point, place: _Place) -> Any:
    text = _write(axes, point, place)
    box = text.get_window_extent().padded(1.5)
    text.remove()
    return box


def _write(axes: Any, point: Point, place: _Place) -> Any:
    dx, dy, horizontal, vertical = place
    return axes.annotate(
        point.name,
        (point.tokens, point.score),
        xytext=(dx, dy),
        textcoords="offset points",
        ha=horizontal,
        va=vertical,
        fontweight="bold" if point.chosen else "normal",
    )


def _around(axes: Any, tokens: float, score: float, reach: float = 4) -> Any:
    """The box of `reach` pixels on every side of a place in the plot."""
    from matplotlib.transforms import Bbox

    x, y = axes.transData.transform((tokens, score))
    return Bbox.from_extents(x - reach, y - reach, x + reach, y + reach)


def _along(axes: Any, best: Sequence[Point]) -> list[Any]:
    """Boxes on the lines between the points of the frontier."""
    return [
        _around(axes, a.tokens + share * (b.tokens - a.tokens), a.score + share * (b.score - a.score), 2)
        for a, b in pairwise(best)
        for share in _STEPS
    ]
