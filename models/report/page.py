"""A report as one Markdown text or one self-contained HTML file: no scripts, no fonts, nothing from the network.

All text of the data is escaped: policy names and domains come from data sets and language models. The HTML page also
forbids itself, by a content security policy, to run or load anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from models.report.data import ReportData
from models.report.figures import caption, describe, figures
from models.report.svg import INK
from models.report.tables import Table, decimal, interval, percent, plain, tables, whole

if TYPE_CHECKING:
    from jinja2 import Template

_TOKENS_TITLE = "Score against evidence tokens"
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#$])")


@dataclass(frozen=True, slots=True)
class _Card:
    """One large number at the top of the page."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading with a figure, a table or both."""

    name: str
    title: str
    table: Table | None = None
    figure: str = ""
    caption: str = ""


def render_html(data: ReportData) -> str:
    """The page as HTML."""
    from markupsafe import Markup

    drawn = figures(data)
    # Safe: `models.report.svg` built the element and escaped every text in it.
    svgs = {name: Markup(svg.replace(INK, "currentColor")) for name, svg in drawn.items()}
    sections = [
        {"name": s.name, "title": s.title, "table": s.table, "svg": svgs.get(s.figure), "caption": s.caption}
        for s in _sections(data)
    ]
    return _template().render(
        title=plain(data.title),
        facts=_facts(data),
        cards=_cards(data),
        sections=sections,
        notes=[plain(note) for note in data.notes],
        command=_printable(data.command),
        versions=_versions(data),
    )


def render_markdown(data: ReportData, figure_paths: Mapping[str, str] | None = None) -> str:
    """The page as Markdown. `figure_paths` says where the caller saved which of `figures(data)`; others are left out."""
    paths = figure_paths or {}
    parts = [f"# {_escape(data.title)}", _escape(" · ".join(_facts(data)))]
    if cards := _cards(data):
        parts.append("\n".join(_card_line(card) for card in cards))
    pictures = {name: f"![{_escape(text)}](<{paths[name]}>)" for name, text in describe(data).items() if name in paths}
    for section in _sections(data):
        picture = pictures.get(section.figure)
        if section.table or picture:
            parts.append(f"## {_escape(section.title)}")
        if picture:
            parts += [picture, _escape(section.caption)]
        if section.table:
            parts.append(_markdown_table(section.table))
    if data.notes:
        parts += ["## Notes", "\n".join(f"- {_escape(note)}" for note in data.notes)]
    if data.command or data.versions:
        parts.append("## Get these numbers again")
    if data.command:
        parts.append(_fenced(_printable(data.command)))
    if data.versions:
        parts.append(_escape(" · ".join(_versions(data))))
    return "\n\n".join(parts) + "\n"


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    source = resources.files("models.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(source)


def _sections(data: ReportData) -> list[_Section]:
    """Figures and tables in reading order; a figure stands with the table of the same name."""
    drawn = describe(data)
    sections = [
        _Section(t.name, t.title, t, *((t.name, caption(t.name, data)) if t.name in drawn else ())) for t in tables(data)
    ]
    if "tokens" in drawn:
        sections.insert(0, _Section("tokens", _TOKENS_TITLE, None, "tokens", caption("tokens", data)))
    return sections


def _facts(data: ReportData) -> list[str]:
    facts = [data.dataset, data.split and f"split {data.split}", data.measured, data.created_at]
    return [plain(fact) for fact in facts if fact]


def _cards(data: ReportData) -> list[_Card]:
    policy = data.headline
    if policy is None:
        return []
    s = policy.summary.overall
    return [
        _Card(
            f"{data.metric_title} of {plain(policy.name)}",
            f"{percent(s.score)} %",
            f"{data.level_title} interval {interval(s.interval)}",
        ),
        _Card("evidence tokens per question", whole(s.evidence_tokens), f"{decimal(s.n_structures)} structures"),
        _Card("questions scored", whole(s.n), f"{s.errors:,} errors, {s.parse_errors:,} unreadable verdicts"),
    ]


def _versions(data: ReportData) -> list[str]:
    return [plain(f"{name} {version}") for name, version in sorted(data.versions.items())]


def _printable(text: str) -> str:
    return "\n".join(plain(line) for line in text.splitlines())


def _escape(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", plain(text).replace("&", "&amp;"))


def _card_line(card: _Card) -> str:
    detail = f" ({_escape(card.detail)})" if card.detail else ""
    return f"- {_escape(card.label)}: **{_escape(card.value)}**{detail}"


def _fenced(text: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _markdown_table(table: Table) -> str:
    rows = [[f"**{_escape(c.text)}**" if c.strong else _escape(c.text) for c in row] for row in table.rows]
    rule = ["---"] + ["---:"] * (len(table.columns) - 1)
    lines = [[_escape(column) for column in table.columns], rule, *rows]
    return "\n".join([_escape(table.caption), "", *(f"| {' | '.join(line)} |" for line in lines)])
