"""A report's figures as SVG: score against evidence tokens, and scores by capability and by domain.

    figures(data)["tokens"]  # '<svg ...>'

They are readable on light and dark pages (`models.report.svg`). `describe` says the same in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.aggregate import Summary
from models.report.data import PolicyRow, ReportData
from models.report.scatter import Point, frontier, scatter, short
from models.report.svg import INK, SERIES, draw
from models.report.tables import group_title, plain, whole

_SERIES = SERIES[:5]
_WIDTH = 7.4


def figures(data: ReportData) -> dict[str, str]:
    """The figures that the data can fill, by name: `tokens`, `by-capability`, `by-domain`. Equal data, equal bytes."""
    texts, points, label = describe(data), _points(data), f"{data.metric_title} (%)"
    drawn: dict[str, str] = {}
    if points:
        drawn["tokens"] = draw("tokens", texts["tokens"], (_WIDTH, 4.3), lambda axes: scatter(axes, points, label))
    for name, groups in _group_figures(data).items():
        drawn[name] = _dot_figure(name, texts[name], data, groups)
    return drawn


def describe(data: ReportData) -> dict[str, str]:
    """What each figure shows, in words, for readers who cannot see it."""
    texts: dict[str, str] = {}
    if points := _points(data):
        best = ", ".join(f"{p.name} ({p.score:.1f} % at {whole(p.tokens)} tokens)" for p in frontier(points))
        texts["tokens"] = (
            f"{data.measured}, against evidence tokens per question. On the frontier, where no other policy is both "
            f"cheaper and better: {best}."
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


def _points(data: ReportData) -> list[Point]:
    points = []
    for policy in data.ranked:
        overall = policy.summary.overall
        if overall.score is not None and overall.evidence_tokens is not None:
            ends = _in_percent(overall)
            points.append(Point(short(policy.name), overall.evidence_tokens, 100 * overall.score, ends, policy.chosen))
    return points


def _in_percent(summary: Summary) -> tuple[float, float] | None:
    return None if summary.interval is None else (100 * summary.interval[0], 100 * summary.interval[1])


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
        label: str | None = short(policy.name)
        for at, group in enumerate(groups):
            summary = _summaries(policy, name).get(group)
            if summary is None or summary.score is None:
                continue
            if ends := _in_percent(summary):
                axes.hlines(at + shift, *ends, color=colour, linewidth=1.1, alpha=0.6)
            axes.plot([100 * summary.score], [at + shift], marker, color=colour, markersize=5, label=label)
            label = None
    axes.set_yticks(range(len(groups)), [short(group_title(group)) for group in groups])
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(plain(f"{data.metric_title} (%)"))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.3, handletextpad=0.3, labelcolor=INK)
