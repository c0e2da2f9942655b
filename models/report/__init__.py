"""Report pages: plain data in, Markdown, self-contained HTML or SVG figures out. Nothing needs the network.

Of an evaluation, `data` says what the page holds, `tables` and `figures` lay it out, `page` joins them; of a sweep, a search
and an ablation, `learning`, `learning_tables`, `learning_figures` and `learning_page`. `document` and `svg` are for all.
"""

from models.report.data import Comparison, PolicyRow, ReportData, StructureRow
from models.report.figures import figures
from models.report.page import render_html, render_markdown

__all__ = ["Comparison", "PolicyRow", "ReportData", "StructureRow", "figures", "render_html", "render_markdown"]
