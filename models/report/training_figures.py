"""Figures of a training's page: curves of every stage, and one walk.

    training_figures(page)["walk"].svg()  # '<svg ...>'

What the page cannot fill is left out. Equal pages give equal bytes.
"""

from __future__ import annotations

from models.report.svg import Figure
from models.report.training import TrainingPage
from models.report.training_curves import curve_figures
from models.report.walk_picture import walk_figure


def training_figures(page: TrainingPage) -> dict[str, Figure]:
    """`curves-1` and so on, one per stage, and `walk`."""
    walk = walk_figure(page.walk)
    return {figure.name: figure for figure in (*curve_figures(page.folds), *([walk] if walk else []))}
