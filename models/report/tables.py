"""A report's tables as text cells, the same for Markdown and HTML. A number that does not exist is a dash, never 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from models.aggregate import Interval, PolicySummary, Summary
from models.report.data import PolicyRow, ReportData, StructureRow

NONE = "–"
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; `strong` marks the best value of its column or the chosen row's name."""

    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """`columns` are headings, the first one of the row names; every further column holds numbers."""

    name: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def tables(data: ReportData) -> list[Table]:
    """The tables that the data can fill, in reading order."""
    every = (
        _policies(data),
        _comparisons(data),
        _groups(data, "by_capability", "capability"),
        _groups(data, "by_domain", "domain"),
        _structures(data),
        _costs(data),
        _warnings(data),
    )
    return [printable(table) for table in every if table.rows]


def printable(table: Table) -> Table:
    """The table with every text as one printable line."""
    rows = tuple(tuple(Cell(plain(cell.text), cell.strong) for cell in row) for row in table.rows)
    return replace(table, caption=plain(table.caption), columns=tuple(map(plain, table.columns)), rows=rows)


def plain(text: str) -> str:
    """One printable line: control characters and lone surrogates replaced, white space squeezed."""
    return " ".join(_UNPRINTABLE.sub("\ufffd", text).split())


def percent(value: float | None) -> str:
    """A share in [0, 1] as percent with one decimal."""
    return NONE if value is None else f"{100 * value:.1f}"


def interval(value: Interval | None) -> str:
    """Both ends of an interval of shares, as percent."""
    return NONE if value is None else f"{100 * value[0]:.1f} to {100 * value[1]:.1f}"


def whole(value: float | None) -> str:
    """A count with thousands separators."""
    return NONE if value is None else f"{value:,.0f}"


def decimal(value: float | None) -> str:
    """A number with one decimal."""
    return NONE if value is None else f"{value:,.1f}"


def _share(count: int, total: int) -> str:
    return f"{count:,} ({100 * count / total:.1f} %)" if count else "0"


_Column = tuple[str, Callable[[PolicyRow], str]]


def _policies(data: ReportData) -> Table:
    columns: list[_Column] = [
        ("score (%)", lambda p: percent(p.summary.overall.score)),
        (f"{data.level_title} interval", lambda p: interval(p.summary.overall.interval)),
        ("support (%)", lambda p: percent(p.support)),
        ("evidence tokens", lambda p: whole(p.summary.overall.evidence_tokens)),
        ("structures", lambda p: decimal(p.summary.overall.n_structures)),
        ("questions scored", lambda p: whole(p.summary.overall.n)),
        ("errors", lambda p: _share(p.summary.overall.errors, p.summary.overall.total)),
        ("unreadable verdicts", lambda p: _share(p.summary.overall.parse_errors, p.summary.overall.total)),
        ("mean of cells (%)", lambda p: percent(p.summary.cell_mean)),
        ("without wrong golds (%)", lambda p: percent(_score(p.summary.audited))),
        ("adversarial, apart (%)", lambda p: percent(_score(p.summary.adversarial))),
    ]
    caption = (
        f"{data.measured}. Mean over the questions that were answered and scored; errors and unreadable verdicts never "
        "count as wrong. Support is the share of the gold answer's own words in the evidence. Tokens and structures are "
        "means per question; cells are domain × capability. Intervals resample whole episodes."
    )
    return _policy_table(data, "policies", "Policies", caption, columns)


def _costs(data: ReportData) -> Table:
    columns: list[_Column] = [
        ("build seconds", lambda p: decimal(p.build_seconds)),
        ("build tokens", lambda p: whole(p.build_tokens)),
        ("access p50 (ms)", lambda p: decimal(p.access_p50_ms)),
        ("access p95 (ms)", lambda p: decimal(p.access_p95_ms)),
    ]
    return _policy_table(
        data, "costs", "Cost of building and reading", "Totals per policy; access times per question.", columns
    )


def _policy_table(data: ReportData, name: str, title: str, caption: str, columns: Sequence[_Column]) -> Table:
    """One row per policy; a column without any value is left out, and a table without any column has no rows."""
    ranked = data.ranked
    filled = [(heading, [read(policy) for policy in ranked]) for heading, read in columns]
    kept = [(heading, texts) for heading, texts in filled if any(text != NONE for text in texts)]
    rows = [
        (Cell(policy.name, policy.chosen), *(Cell(texts[i], policy.chosen) for _, texts in kept))
        for i, policy in enumerate(ranked)
    ]
    return Table(name, title, caption, ("policy", *(heading for heading, _ in kept)), tuple(rows) if kept else ())


def _comparisons(data: ReportData) -> Table:
    rows = [
        (
            Cell(f"{c.first} − {c.second}"),
            Cell(_signed(c.difference.mean)),
            Cell(interval(c.difference.interval)),
            Cell(whole(c.difference.n)),
        )
        for c in data.comparisons
    ]
    caption = f"{data.measured}. Paired by question; a difference whose interval holds 0 may be chance."
    columns = ("difference", "points", f"{data.level_title} interval", "questions")
    return Table("comparisons", "Differences", caption, columns, tuple(rows))


def _groups(data: ReportData, attribute: str, word: str) -> Table:
    ranked = data.ranked
    found = [_summaries(policy.summary, attribute) for policy in ranked]
    names = sorted({name for groups in found for name in groups})
    best = {name: max((_score(g.get(name)) or 0.0 for g in found), default=0.0) for name in names}
    sizes = {name: max(g[name].n for g in found if name in g) for name in names}
    rows = [
        (
            Cell(policy.name, policy.chosen),
            *(Cell(percent(s), s is not None and s == best[name]) for name in names for s in [_score(groups.get(name))]),
        )
        for policy, groups in zip(ranked, found, strict=True)
    ]
    columns = ("policy", *(f"{group_title(name)} (n {sizes[name]:,})" for name in names))
    caption = f"{data.measured}, in %. The best of each column is bold."
    return Table(f"by-{word}", f"By {word}", caption, columns, tuple(rows) if names else ())


def group_title(name: str) -> str:
    """A capability or domain as a heading."""
    return plain(name.replace("_", " "))


def _summaries(summary: PolicySummary, attribute: str) -> dict[str, Summary]:
    return summary.by_capability if attribute == "by_capability" else summary.by_domain


def _structures(data: ReportData) -> Table:
    rows = [tuple(Cell(text) for text in _structure(row)) for row in data.structures]
    columns = (
        "structure",
        "evidence tokens",
        "evidence recall (%)",
        "support (%)",
        "build seconds",
        "build tokens",
        "access p50 (ms)",
        "access p95 (ms)",
    )
    caption = (
        "Each structure alone, without an answer model; means per question. Recall: gold evidence steps that its evidence "
        "shows (questions with gold steps only). Support: words of the gold answer that stand in its evidence, an upper "
        "bound for a reader."
    )
    return Table("structures", "Structures", caption, columns, tuple(rows))


def _structure(row: StructureRow) -> tuple[str, ...]:
    return (
        f"{row.letter} {row.name}",
        whole(row.evidence_tokens),
        _counted(row.recall, row.recall_n),
        _counted(row.support, row.support_n),
        decimal(row.build_seconds),
        whole(row.build_tokens),
        decimal(row.access_p50_ms),
        decimal(row.access_p95_ms),
    )


def _warnings(data: ReportData) -> Table:
    rows = tuple((Cell(group_title(name)), Cell(whole(count))) for name, count in sorted(data.warnings.items()))
    return Table(
        "warnings", "Ingest warnings", "What was repaired or left out while reading the data.", ("what", "count"), rows
    )


def _score(summary: Summary | None) -> float | None:
    return None if summary is None else summary.score


def _signed(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:+.1f}"


def _counted(value: float | None, n: int) -> str:
    return NONE if value is None else f"{percent(value)} (n {n:,})"
