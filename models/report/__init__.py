"""Report pages of an evaluation: `ReportData` in, Markdown, self-contained HTML or SVG figures out.

`data` says what a report holds, `tables`, `figures` and `svg` lay it out, `page` joins them. Nothing needs the network.
"""

from models.report.data import Comparison, PolicyRow, ReportData, StructureRow
from models.report.figures import figures
from models.report.page import render_html, render_markdown

__all__ = ["Comparison", "PolicyRow", "ReportData", "StructureRow", "figures", "render_html", "render_markdown"]
