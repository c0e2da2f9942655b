"""How a training went: what every stage measured by epoch, a thin line per fold and their mean, a colour per mode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from models.report.scatter import short
from models.report.svg import INK, SERIES, Figure
from models.report.tables import group_title, plain
from models.report.training import TrainedFold

Point = tuple[int, float]

_WIDTH = 7.4
_PANEL_HEIGHT = 2.1
_COLUMNS = 2
_FEW = 12
"""So few points are marked, since a line of one or two can hardly be seen."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A field of `EpochRecord`: its title, and by how much it is multiplied to be drawn."""

    field: str
    title: str
    scale: float = 1.0
    digits: int = 2


MEASURES = (
    Measure("reward", "reward per sampled walk"),
    Measure("success", "success on validation (%)", 100.0, 1),
    Measure("recall", "recall on validation (%)", 100.0, 1),
    Measure("loss", "loss"),
    Measure("edge_drift", "edge drift", digits=4),
)


@dataclass(frozen=True, slots=True)
class Lines:
    """The curves of one mode in one panel: `folds`, and `mean` over the epochs that all of them measured."""

    mode: str
    folds: tuple[tuple[Point, ...], ...]

    @property
    def mean(self) -> tuple[Point, ...]:
        values: dict[int, list[float]] = {}
        for points in self.folds:
            for epoch, value in points:
                values.setdefault(epoch, []).append(value)
        return tuple((e, math.fsum(v) / len(v)) for e, v in sorted(values.items()) if len(v) == len(self.folds))


Panel = tuple[Measure, tuple[Lines, ...]]


def curve_figures(folds: Sequence[TrainedFold]) -> list[Figure]:
    """One figure per stage, in the order of training, named `curves-1` and so on; without epochs there are none."""
    stages = dict.fromkeys(record.stage for fold in folds for record in fold.history)
    found = [(stage, panels(folds, stage)) for stage in stages]
    return [_figure(number, stage, drawn) for number, (stage, drawn) in enumerate(found, 1) if drawn]


def panels(folds: Sequence[TrainedFold], stage: str) -> tuple[Panel, ...]:
    """What a stage measured, with the lines of every mode; a number that no fold has makes no panel."""
    modes = tuple(dict.fromkeys(fold.mode for fold in folds))
    found = []
    for measure in MEASURES:
        by_mode = {mode: [_points(fold, stage, measure) for fold in folds if fold.mode == mode] for mode in modes}
        lines = tuple(Lines(mode, kept) for mode, curves in by_mode.items() if (kept := tuple(filter(None, curves))))
        if lines:
            found.append((measure, lines))
    return tuple(found)


def _points(fold: TrainedFold, stage: str, measure: Measure) -> tuple[Point, ...]:
    values = ((r.epoch, getattr(r, measure.field)) for r in fold.history if r.stage == stage)
    return tuple((epoch, measure.scale * value) for epoch, value in values if value is not None and math.isfinite(value))


def _figure(number: int, stage: str, drawn: tuple[Panel, ...]) -> Figure:
    rows = math.ceil(len(drawn) / _COLUMNS)
    modes = len({line.mode for _, lines in drawn for line in lines})
    colours = " A colour per mode." if modes > 1 else ""
    return Figure(
        f"curves-{number}",
        plain(f"Stage {group_title(stage)}, mean over the folds from the first epoch to the last. {_words(drawn)}."),
        f"By epoch, from 0. Thin lines: folds; thick: their mean over epochs that all measured.{colours} A fold keeps the "
        "weights of its best epoch on validation.",
        (_WIDTH, 0.35 * (modes > 1) + _PANEL_HEIGHT * rows),
        partial(_plot, drawn=drawn),
    )


def _words(drawn: Sequence[Panel]) -> str:
    said = []
    for measure, lines in drawn:
        for line in lines:
            mean = line.mean
            if mean:
                ends = f"{mean[0][1]:.{measure.digits}f} to {mean[-1][1]:.{measure.digits}f}"
                said.append(f"{line.mode}, {measure.title}: {ends}")
    return "; ".join(said) or "No epoch was measured by all folds"


def _plot(axes: Any, drawn: Sequence[Panel]) -> None:
    """Replace the one axes by a grid of panels."""
    figure = axes.figure
    axes.remove()
    colours = _colours(drawn)
    grid = figure.subplots(math.ceil(len(drawn) / _COLUMNS), _COLUMNS, squeeze=False).flatten()
    for place, (measure, lines) in zip(grid, drawn, strict=False):
        _panel(place, measure, lines, colours)
    for empty in grid[len(drawn) :]:
        empty.remove()
    if len(colours) > 1:
        handles = [
            grid[0].plot([], [], color=colour, linewidth=1.9, label=short(mode))[0] for mode, colour in colours.items()
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), labelcolor=INK, borderaxespad=0.3)


def _colours(drawn: Sequence[Panel]) -> dict[str, str]:
    modes = dict.fromkeys(line.mode for _, lines in drawn for line in lines)
    return {mode: SERIES[i % len(SERIES)][0] for i, mode in enumerate(modes)}


def _panel(axes: Any, measure: Measure, lines: Sequence[Lines], colours: dict[str, str]) -> None:
    axes.grid(True, axis="y")
    axes.set_axisbelow(True)
    for line in lines:
        for points in line.folds:
            _line(axes, points, color=colours[line.mode], linewidth=0.7, alpha=0.45)
        _line(axes, line.mean, color=colours[line.mode], linewidth=1.9)
    axes.set_title(measure.title, loc="left", fontsize=9.5)
    axes.set_xlabel("epoch")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.get_major_locator().set_params(nbins=5)
    axes.ticklabel_format(axis="y", useOffset=False)


def _line(axes: Any, points: Sequence[Point], **style: Any) -> None:
    marker = "." if len(points) <= _FEW else ""
    axes.plot([x for x, _ in points], [y for _, y in points], marker=marker, markersize=4, **style)
