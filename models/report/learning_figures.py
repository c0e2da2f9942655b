"""Figures of the pages about learning: radar plots of subsets, use of structures, a search's curve, score against tokens.

    sweep_figures(page)["by-domain"].svg()  # '<svg ...>'

A figure knows how to draw itself, says in words what it shows (`description`) and how to read it (`caption`). What the page
cannot fill is left out. Equal pages give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from models.report.heatmap import HeatRow, heatmap, height
from models.report.learning import AblationPage, LearningPage, SearchPage, SweepPage, Trial
from models.report.radar import FEWEST_AXES, Spoke, centre, radar
from models.report.scatter import Point, frontier, scatter, short
from models.report.svg import ACCENT, INK, SERIES, Figure
from models.report.tables import group_title, plain, whole
from models.selector.analysis import Group, StructureUse
from models.selector.lookups import ANY, Cell, Kind
from models.selector.subsets import subset_name

_WIDTH = 7.4
_KINDS: tuple[Kind, ...] = ("domain", "capability")


def sweep_figures(page: SweepPage) -> dict[str, Figure]:
    """`tokens`, `by-domain`, `by-capability`, `use`."""
    best = max(page.analysis.subsets, key=lambda found: found.objective, default=None)
    points = [Point(s.subset, s.tokens, 100 * s.score, chosen=s is best) for s in page.analysis.subsets]
    used = "Share of questions for which the best subset of their cell (domain × capability) reads each structure, in %"
    radars = [_radar(page, kind, page.analysis.groups[kind]) for kind in _KINDS]
    return _named([_tokens(page, points, "the best objective"), *radars, _use(page, page.analysis.use, used)])


def search_figures(page: SearchPage) -> dict[str, Figure]:
    """`curve`, `use`."""
    used = "Share of validation questions for which the champion reads each structure, in %"
    return _named([_curve(page), _use(page, page.use, used)])


def ablation_figures(page: AblationPage) -> dict[str, Figure]:
    """`tokens`, without the oracle: a ceiling would be the whole frontier."""
    points = [
        Point(short(group_title(row.name)), row.evidence_tokens, 100 * row.score, chosen=row.name == page.reference)
        for row in page.ranked
        if row.name != "oracle"
    ]
    return _named([_tokens(page, points, page.reference, careful=True)])


def _named(figures: Iterable[Figure | None]) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures if figure is not None}


def _tokens(page: LearningPage, points: Sequence[Point], chosen: str, careful: bool = False) -> Figure | None:
    if not points:
        return None
    best = ", ".join(f"{p.name} ({p.score:.1f} % at {whole(p.tokens)} tokens)" for p in frontier(points))
    return Figure(
        "tokens",
        plain(f"{page.measured}, against evidence tokens. No other is both cheaper and better than: {best}."),
        plain(f"{page.measured}. Blue: the frontier, where no other is both cheaper and better. The ring marks {chosen}."),
        (_WIDTH, 4.3),
        partial(scatter, points=points, score_label=f"{page.metric_title} (%)", careful=careful),
    )


def _radar(page: LearningPage, kind: Kind, groups: Sequence[Group]) -> Figure | None:
    """Nothing when there are too few categories to make a shape."""
    if len(groups) < FEWEST_AXES:
        return None
    spokes = [_spoke(group) for group in groups]
    best = ", ".join(f"{spoke.name}: {spoke.best} ({spoke.values[spoke.best]:.1f} %)" for spoke in spokes)
    return Figure(
        f"by-{kind}",
        plain(f"{page.measured}, of every subset by {kind}. The highest of each: {best}."),
        plain(
            f"{page.measured}, as a share of the highest score on each axis, which is written beside it and has a star. "
            f"Lines: single structures, and all (dashed). Grey dots: every other subset. The centre is "
            f"{100 * centre(spokes):g} %."
        ),
        (_WIDTH, 4.4),
        partial(radar, spokes=spokes, lines=list(page.structures), everything=subset_name(page.structures)),
        "polar",
    )


def _spoke(group: Group) -> Spoke:
    return Spoke(cell_title(group.cell), group.top.subset, {name: 100 * score for name, score in group.scores.items()})


def _use(page: LearningPage, used: Sequence[StructureUse], what: str) -> Figure | None:
    if not used:
        return None
    rows = _heat_rows(used, list(page.structures))
    shares = ", ".join(f"{letter} {100 * used[-1].shares.get(letter, 0.0):.0f}" for letter in page.structures)
    columns = [f"{letter} {name}" for letter, name in page.structures.items()]
    return Figure(
        "use",
        plain(f"{what}. {cell_title(used[-1].cell)}: {shares}. The table below has the numbers."),
        plain(f"{what}. The deeper the blue, the more often."),
        (_WIDTH, height(rows)),
        partial(heatmap, columns=columns, rows=rows),
    )


def _heat_rows(used: Sequence[StructureUse], letters: Sequence[str]) -> list[HeatRow]:
    titles = cell_titles([use.cell for use in used])
    return [
        HeatRow(f"{title} (n {use.n:,})", tuple(use.shares.get(letter, 0.0) for letter in letters), use.cell == (ANY, ANY))
        for title, use in zip(titles, used, strict=True)
    ]


def cell_titles(cells: Sequence[Cell]) -> list[str]:
    """Cells as headings; the domain is left out where there is only one."""
    domains = {domain for domain, _ in cells} - {ANY}
    if len(domains) > 1:
        return [cell_title(cell) for cell in cells]
    return [cell_title((ANY, capability) if capability else (domain, capability)) for domain, capability in cells]


def cell_title(cell: Cell) -> str:
    """A cell as a heading: domain, capability, both, or all questions."""
    known = [group_title(name) or "unknown" for name in cell if name != ANY]
    return " · ".join(known) if known else "all questions"


def _curve(page: SearchPage) -> Figure:
    return Figure(
        "curve",
        plain(
            f"Best validation objective by iteration: {page.curve[0]:.4f} before the first, {page.curve[-1]:.4f} after "
            f"{len(page.curve) - 1}; all structures have {page.baseline:.4f}."
        ),
        "Line: the best validation objective so far. Dots: valid candidates, but for those far below. Dashed: all "
        "structures, where every search starts.",
        (_WIDTH, 3.6),
        partial(_plot_curve, page=page),
    )


def _plot_curve(axes: Any, page: SearchPage) -> None:
    axes.grid(True, axis="y")
    axes.set_axisbelow(True)
    low = _lowest(page)
    axes.plot(range(len(page.curve)), page.curve, color=ACCENT, linewidth=1.8, drawstyle="steps-post", label="best so far")
    axes.axhline(page.baseline, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="all structures")
    for (role, trials), (colour, marker) in zip(_by_role(page.trials).items(), SERIES[1:], strict=False):
        shown = [(iteration, objective) for iteration, objective in trials if objective >= low]
        axes.plot(
            [x for x, _ in shown], [y for _, y in shown], marker, color=colour, markersize=4, alpha=0.75, label=short(role)
        )
    axes.set_ylim(bottom=low)
    axes.set_xlabel("iteration")
    axes.set_ylabel("validation objective")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, borderaxespad=0.3, labelcolor=INK, handletextpad=0.4)


def _by_role(trials: Sequence[Trial]) -> Mapping[str, list[tuple[int, float]]]:
    """(iteration, objective) of the valid candidates by role."""
    found: dict[str, list[tuple[int, float]]] = {}
    for trial in trials:
        if trial.objective is not None and trial.status == "valid":
            found.setdefault(trial.role, []).append((trial.iteration, trial.objective))
    return found


def _lowest(page: SearchPage) -> float:
    """Where the vertical axis begins: one bad candidate must not press the curve flat."""
    gain = max(page.curve[-1] - page.baseline, 1e-3)
    objectives = [objective for trials in _by_role(page.trials).values() for _, objective in trials]
    return max(page.baseline - gain, min([page.baseline, *objectives])) - 0.05 * gain
