"""The report page of an evaluation: what stands on it, in which order. `models.report.document` lays it out."""

from __future__ import annotations

from collections.abc import Mapping

from models.report.data import ReportData
from models.report.document import Card, Document, Section, document, html, markdown
from models.report.figures import caption, describe, figures
from models.report.tables import decimal, interval, percent, plain, tables, whole

_TOKENS_TITLE = "Score against evidence tokens"


def render_html(data: ReportData) -> str:
    """The page as HTML."""
    return html(_document(data), figures(data))


def render_markdown(data: ReportData, figure_paths: Mapping[str, str] | None = None) -> str:
    """The page as Markdown. `figure_paths` says where the caller saved which of `figures(data)`; others are left out."""
    return markdown(_document(data), figure_paths)


def _document(data: ReportData) -> Document:
    facts = [data.dataset, data.split and f"split {data.split}", data.measured, data.created_at]
    return document(data, facts, _cards(data), _sections(data))


def _sections(data: ReportData) -> list[Section]:
    """Figures and tables in reading order; a figure stands with the table of the same name."""
    texts = describe(data)

    def figure(name: str) -> tuple[str, str, str]:
        return (name, caption(name, data), texts[name]) if name in texts else ("", "", "")

    sections = [Section(table.name, table.title, table, *figure(table.name)) for table in tables(data)]
    if "tokens" in texts:
        sections.insert(0, Section("tokens", _TOKENS_TITLE, None, *figure("tokens")))
    return sections


def _cards(data: ReportData) -> list[Card]:
    policy = data.headline
    if policy is None:
        return []
    s = policy.summary.overall
    return [
        Card(
            f"{data.metric_title} of {plain(policy.name)}",
            f"{percent(s.score)} %",
            f"{data.level_title} interval {interval(s.interval)}",
        ),
        Card("evidence tokens per question", whole(s.evidence_tokens), f"{decimal(s.n_structures)} structures"),
        Card("questions scored", whole(s.n), f"{s.errors:,} errors, {s.parse_errors:,} unreadable verdicts"),
    ]
