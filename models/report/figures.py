"""A report's figures as SVG: score against evidence tokens, and scores by capability and by domain.

    figures(data)["tokens"]  # '<svg ...>'

They are readable on light and dark pages (`models.report.svg`). `describe` says the same in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.aggregate import Summary, pareto_frontier
from models.report.data import PolicyRow, ReportData
from models.report.svg import INK, draw
from models.report.tables import group_title, plain, whole

_POINT, _ACCENT = "#8f97a3", "#2f7fd6"
_SERIES = (("#2f7fd6", "o"), ("#d9822b", "s"), ("#2e9e6b", "D"), ("#9a6dd7", "^"), ("#d1495b", "v"))
_WIDTH = 7.4
_ALL_LABELLED = 12
_LONGEST_LABEL = 30
_LOG_SPREAD = 8.0
"""From this ratio of the largest to the smallest token count on, the axis is logarithmic."""


@dataclass(frozen=True, slots=True)
class _Point:
    """One policy in the scatter plot; `score` and `interval` in percent."""

    name: str
    tokens: float
    score: float
    interval: tuple[float, float] | None
    chosen: bool


def figures(data: ReportData) -> dict[str, str]:
    """The figures that the data can fill, by name: `tokens`, `by-capability`, `by-domain`. Equal data, equal bytes."""
    texts, points = describe(data), _points(data)
    drawn: dict[str, str] = {}
    if points:
        drawn["tokens"] = draw("tokens", texts["tokens"], (_WIDTH, 4.3), lambda axes: _scatter(axes, data, points))
    for name, groups in _group_figures(data).items():
        drawn[name] = _dot_figure(name, texts[name], data, groups)
    return drawn


def describe(data: ReportData) -> dict[str, str]:
    """What each figure shows, in words, for readers who cannot see it."""
    texts: dict[str, str] = {}
    if points := _points(data):
        frontier = ", ".join(f"{p.name} ({p.score:.1f} % at {whole(p.tokens)} tokens)" for p in _frontier(points))
        texts["tokens"] = (
            f"{data.measured}, against evidence tokens per question. On the frontier, where no other policy is both "
            f"cheaper and better: {frontier}."
        )
    names = ", ".join(policy.name for policy in _shown(data))
    for name in _group_figures(data):
        texts[name] = f"{data.measured}, by {name.removeprefix('by-')}, for {names}. The table below has the numbers."
    return {name: plain(text) for name, text in texts.items()}


def caption(name: str, data: ReportData) -> str:
    """How to read a figure, for its readers."""
    lines = f"Thin lines are {data.level_title} intervals."
    if name != "tokens":
        return f"The chosen policy and the best others, {len(_SERIES)} at most. {lines}"
    ring = " The ring marks the chosen policy." if any(policy.chosen for policy in data.policies) else ""
    return plain(f"{data.measured}. Blue: the frontier, where no other policy is both cheaper and better.{ring} {lines}")


def _points(data: ReportData) -> list[_Point]:
    points = []
    for policy in data.ranked:
        overall = policy.summary.overall
        if overall.score is not None and overall.evidence_tokens is not None:
            ends = _in_percent(overall)
            points.append(_Point(_short(policy.name), overall.evidence_tokens, 100 * overall.score, ends, policy.chosen))
    return points


def _in_percent(summary: Summary) -> tuple[float, float] | None:
    return None if summary.interval is None else (100 * summary.interval[0], 100 * summary.interval[1])


def _frontier(points: Sequence[_Point]) -> list[_Point]:
    return [points[i] for i in pareto_frontier([(p.tokens, p.score) for p in points])]


def _short(name: str) -> str:
    name = plain(name)
    return name if len(name) <= _LONGEST_LABEL else f"{name[: _LONGEST_LABEL - 1]}…"


def _group_figures(data: ReportData) -> dict[str, list[str]]:
    """The groups of each figure by group; a figure needs at least two."""
    found: dict[str, list[str]] = {}
    for name in ("by-capability", "by-domain"):
        groups = {g for policy in data.policies for g, s in _summaries(policy, name).items() if s.score is not None}
        if len(groups) > 1:
            found[name] = sorted(groups)
    return found


def _summaries(policy: PolicyRow, figure: str) -> Mapping[str, Summary]:
    return policy.summary.by_capability if figure == "by-capability" else policy.summary.by_domain


def _shown(data: ReportData) -> list[PolicyRow]:
    """The chosen policies and the best others, as many as the eye can tell apart, by falling score."""
    scored = [policy for policy in data.ranked if policy.summary.overall.score is not None]
    first = sorted(scored, key=lambda policy: not policy.chosen)[: len(_SERIES)]
    return [policy for policy in scored if policy in first]


def _scatter(axes: Any, data: ReportData, points: Sequence[_Point]) -> None:
    frontier = _frontier(points)
    axes.grid(True)
    axes.set_axisbelow(True)
    _token_axis(axes, [point.tokens for point in points])
    axes.set_xlabel("evidence tokens per question")
    axes.set_ylabel(plain(f"{data.metric_title} (%)"))
    axes.plot([p.tokens for p in frontier], [p.score for p in frontier], color=_ACCENT, linewidth=1.2, alpha=0.8, zorder=2)
    for point in points:
        on = point in frontier
        colour, size = (_ACCENT, 36) if on else (_POINT, 26)
        if point.interval:
            axes.vlines(point.tokens, *point.interval, color=colour, linewidth=0.9, alpha=0.45, zorder=2)
        axes.scatter([point.tokens], [point.score], s=size, color=colour, zorder=3)
        if point.chosen:
            axes.scatter([point.tokens], [point.score], s=120, facecolors="none", edgecolors=_ACCENT, zorder=3)
    axes.margins(x=0.08, y=0.1)
    _label(axes, points, frontier)


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


def _label(axes: Any, points: Sequence[_Point], frontier: Sequence[_Point]) -> None:
    """Name the points: chosen and frontier first. A label that fits nowhere is left out; the table has every name."""
    axes.figure.draw_without_rendering()  # fixes the layout, so that label boxes can be compared
    taken = [_around(axes, point) for point in points]
    crowded = len(points) > _ALL_LABELLED
    for point in sorted(points, key=lambda p: (not p.chosen, p not in frontier)):
        if not crowded or point.chosen or point in frontier:
            _place(axes, point, taken)


def _place(axes: Any, point: _Point, taken: list[Any]) -> None:
    """Write the name at the first free place and add its box to `taken`; a chosen point is named in any case."""
    boxes = [_box(axes, point, place) for place in _PLACES]
    room = axes.bbox.padded(4)
    clashes = [
        sum(map(box.overlaps, taken)) if room.contains(box.x0, box.y0) and room.contains(box.x1, box.y1) else len(taken)
        for box in boxes
    ]
    best = clashes.index(min(clashes))
    if clashes[best] and not point.chosen:
        return
    taken.append(boxes[best])
    _write(axes, point, _PLACES[best])
    if abs(_PLACES[best][0]) > _LEADER:
        line = {"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 6}
        at = (point.tokens, point.score)
        axes.annotate("", at, xytext=_PLACES[best][:2], textcoords="offset points", arrowprops=line)


def _box(axes: Any, point: _Point, place: _Place) -> Any:
    text = _write(axes, point, place)
    box = text.get_window_extent().padded(1.5)
    text.remove()
    return box


def _write(axes: Any, point: _Point, place: _Place) -> Any:
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


def _around(axes: Any, point: _Point) -> Any:
    from matplotlib.transforms import Bbox

    x, y = axes.transData.transform((point.tokens, point.score))
    return Bbox.from_extents(x - 4, y - 4, x + 4, y + 4)


def _dot_figure(name: str, text: str, data: ReportData, groups: Sequence[str]) -> str:
    shown = _shown(data)
    height = 0.9 + len(groups) * (0.22 + 0.15 * len(shown))
    return draw(name, text, (_WIDTH, height), lambda axes: _dots(axes, name, data, groups, shown))


def _dots(axes: Any, name: str, data: ReportData, groups: Sequence[str], shown: Sequence[PolicyRow]) -> None:
    """One line per group, one dot per policy, the policies of a group side by side."""
    axes.grid(True, axis="x")
    axes.set_axisbelow(True)
    for i, (policy, (colour, marker)) in enumerate(zip(shown, _SERIES, strict=False)):
        shift = (i - (len(shown) - 1) / 2) * 0.75 / len(_SERIES)
        label: str | None = _short(policy.name)
        for at, group in enumerate(groups):
            summary = _summaries(policy, name).get(group)
            if summary is None or summary.score is None:
                continue
            if ends := _in_percent(summary):
                axes.hlines(at + shift, *ends, color=colour, linewidth=1.1, alpha=0.6)
            axes.plot([100 * summary.score], [at + shift], marker, color=colour, markersize=5, label=label)
            label = None
    axes.set_yticks(range(len(groups)), [_short(group_title(group)) for group in groups])
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(plain(f"{data.metric_title} (%)"))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.3, handletextpad=0.3, labelcolor=INK)
