"""From matplotlib to SVG that can stand inside a page: deterministic, transparent, labelled, text kept as text."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

INK = "#767676"
"""All lines and letters: a grey with a contrast of 4.5:1 on white and on black. A page may replace it by `currentColor`."""

BRIGHT_INK = "#767677"
"""The same grey to the eye, for letters on a coloured ground. A page may replace it by the colour of its own text."""

ACCENT = "#2f7fd6"
"""The colour of what a figure is about."""

SERIES = ((ACCENT, "o"), ("#d9822b", "s"), ("#2e9e6b", "D"), ("#9a6dd7", "^"), ("#d1495b", "v"), ("#3aa6a6", "P"))
"""Colours and markers of the lines of a figure, as many as the eye can tell apart."""

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_DRAWN_FONT = re.compile(r"'DejaVu Sans'(, [^;]*)?")

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "strata",
    "font.family": ["DejaVu Sans"],  # comes with matplotlib: label sizes are the same on every machine
    "font.size": 9.5,
    "text.parse_math": False,  # a policy's name may hold dollar signs
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "grid.alpha": 0.22,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that is drawn when it is needed. `description` says what it shows, `caption` how to read it."""

    name: str
    description: str
    caption: str
    size: tuple[float, float]
    plot: Callable[[Any], None]
    projection: str | None = None

    def svg(self) -> str:
        """The figure as an SVG element."""
        return draw(self.name, self.description, self.size, self.plot, self.projection)


def draw(
    name: str, description: str, size: tuple[float, float], plot: Callable[[Any], None], projection: str | None = None
) -> str:
    """The SVG element of a figure of `size` inches; `plot` fills its one axes, which are polar for `projection` "polar".

    `name` prefixes every id, so that several figures can stand in one page; `description` is what a screen reader says.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    buffer = io.BytesIO()
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # Names in any script are drawn by the reader's fonts; here they are only measured.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        plot(figure.add_subplot(projection=projection))
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _for_a_page(buffer.getvalue(), name, description)


def _for_a_page(svg: bytes, name: str, description: str) -> str:
    """Drop the XML prologue and metadata, make ids unique, let the page choose size and font, and add the description."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root = ElementTree.fromstring(svg)
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    for element in root.iter():
        for key, value in element.attrib.items():
            element.set(key, _local(key, value, name))
    for fixed in ("width", "height"):
        root.attrib.pop(fixed, None)
    title = ElementTree.Element(f"{{{_SVG}}}title", {"id": f"{name}-title"})
    title.text = description
    root.insert(0, title)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title")
    return ElementTree.tostring(root, encoding="unicode")


def _local(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key.endswith("href") and value.startswith("#"):
        return f"#{name}-{value[1:]}"
    if key == "style":
        return _DRAWN_FONT.sub("system-ui, sans-serif", value)
    return value.replace("url(#", f"url(#{name}-")
