"""The picture of one walk: its events in step order, an arc for every edge walked, coloured by its strongest relation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from models.report.scatter import short
from models.report.svg import INK, SERIES, Figure
from models.report.tables import group_title, plain
from models.report.training import ExampleWalk
from storage.structures.event_index import Hop
from storage.structures.events import RELATIONS

MOST_EVENTS = 24
"""As many have room for their names; of a longer walk the best are drawn."""

_ANCHOR, _UNKNOWN = "#5f6b7a", INK
_COLOURS = dict(zip(RELATIONS, (colour for colour, _ in SERIES), strict=False))
_WIDTH = 7.4
_LABEL = 14
_QUESTION = 300
_DOT = 150


@dataclass(frozen=True, slots=True)
class Arc:
    """An edge from the event at place `first` to the one at `last`; `relation` is "" when none is known."""

    first: int
    last: int
    relation: str


def strongest(relations: Mapping[str, float]) -> str:
    """The relation that holds most strongly, the first of equals; "" without one."""
    return max(relations, key=lambda name: relations[name], default="")


def event_name(hop: Hop) -> str:
    """What an event is called: its reference in the data, else its step."""
    return plain(hop.ref) or f"step {hop.step}"


def walk_figure(walk: ExampleWalk | None) -> Figure | None:
    """The figure `walk`; None without a walk."""
    if walk is None or not walk.hops:
        return None
    shown = walk.hops[:MOST_EVENTS]
    cut = f" The best {len(shown)} of {len(walk.hops)} events." if len(shown) < len(walk.hops) else ""
    return Figure(
        "walk",
        plain(f"The walk for: {walk.question[:_QUESTION]} {_told(shown)}{cut}"),
        plain(
            f"“{walk.question[:_QUESTION]}”, intent {group_title(walk.intent)}, episode {walk.episode_id}, which the router "
            f"has not seen. Events in the order of the episode, not to scale; the number is the place in the ranking.{cut} "
            "Squares: anchors, where the walk starts. Arcs: edges to events reached from others, by their strongest "
            "relation; above the line forward in time, below it back. Gold evidence is not marked."
        ),
        (_WIDTH, 3.7),
        partial(_plot, hops=shown),
    )


def _told(hops: Sequence[Hop]) -> str:
    names = {hop.step: event_name(hop) for hop in hops}
    anchors = ", ".join(event_name(hop) for hop in hops if hop.origin is None)
    reached = [
        f"{event_name(hop)} from {names.get(hop.origin, f'step {hop.origin}')} by {strongest(hop.relations) or 'an edge'}"
        for hop in hops
        if hop.origin is not None
    ]
    return f"Anchors: {anchors or 'none'}. Reached: {', '.join(reached) or 'none'}."


def arcs(hops: Sequence[Hop]) -> list[Arc]:
    """The edges between the given events, by their places in step order."""
    places = {step: place for place, step in enumerate(sorted(hop.step for hop in hops))}
    return [
        Arc(places[hop.origin], places[hop.step], strongest(hop.relations))
        for hop in hops
        if hop.origin is not None and hop.origin in places
    ]


def _plot(axes: Any, hops: Sequence[Hop]) -> None:
    ordered = sorted(hops, key=lambda hop: hop.step)
    rank = {hop.step: number for number, hop in enumerate(hops, 1)}
    drawn = arcs(hops)
    axes.axhline(0, color=INK, linewidth=0.6, alpha=0.5, zorder=1)
    for arc in drawn:
        _draw_arc(axes, arc)
    for place, hop in enumerate(ordered):
        _draw_event(axes, place, hop, rank[hop.step])
    _limits(axes, drawn, len(ordered))
    names = [short(event_name(hop), _LABEL) for hop in ordered]
    axes.set_xticks(range(len(ordered)), names, rotation=50, ha="right", rotation_mode="anchor")
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("events visited, in the order of the episode")
    _legend(axes, hops, drawn)


def _height(arc: Arc) -> float:
    """Of an arc's top: positive forward in time, negative back; a wider arc is higher."""
    height = math.pow(abs(arc.last - arc.first), 0.7)
    return height if arc.last > arc.first else -height


def _draw_arc(axes: Any, arc: Arc) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    top = _height(arc) * 4 / 3  # a cubic reaches three quarters of its handles
    curve = Path(
        [(arc.first, 0), (arc.first, top), (arc.last, top), (arc.last, 0)],
        [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
    )
    colour = _COLOURS.get(arc.relation, _UNKNOWN)
    axes.add_patch(PathPatch(curve, facecolor="none", edgecolor=colour, linewidth=1.5, zorder=2))


def _draw_event(axes: Any, place: int, hop: Hop, rank: int) -> None:
    anchor = hop.origin is None
    colour = _ANCHOR if anchor else _COLOURS.get(strongest(hop.relations), _UNKNOWN)
    axes.scatter([place], [0], s=_DOT, marker="s" if anchor else "o", color=colour, zorder=3)
    axes.text(place, 0, str(rank), color="#ffffff", fontsize=7.5, fontweight="bold", ha="center", va="center_baseline")


def _limits(axes: Any, drawn: Sequence[Arc], events: int) -> None:
    heights = [_height(arc) for arc in drawn]
    low, high = min([-1.0, *heights]), max([1.0, *heights])
    margin = 0.12 * (high - low)
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(-0.7, max(events, 2) - 0.3)
    axes.set_yticks([])
    axes.spines[["left", "bottom"]].set_visible(False)


def _legend(axes: Any, hops: Sequence[Hop], drawn: Sequence[Arc]) -> None:
    """Only what is drawn."""
    known = {arc.relation for arc in drawn} | {strongest(hop.relations) for hop in hops if hop.origin is not None}
    if any(hop.origin is None for hop in hops):
        axes.plot([], [], "s", color=_ANCHOR, markersize=7, label="anchor")
    for relation, colour in _COLOURS.items():
        if relation in known:
            axes.plot([], [], "-o", color=colour, linewidth=1.5, markersize=7, label=relation)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, borderaxespad=0.3, handletextpad=0.4, labelcolor=INK)
