"""The pages of a subset sweep, a selector search and an ablation: what stands on them, in which order.

    render(page).html

`models.report.document` lays them out and escapes every text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from models.report.document import Card, Document, Section, document, html, markdown
from models.report.learning import AblationPage, LearningPage, SearchPage, SweepPage, verdict
from models.report.learning_figures import ablation_figures, search_figures, sweep_figures
from models.report.learning_tables import ablation_tables, objective, search_tables
from models.report.svg import Figure
from models.report.sweep_tables import sweep_tables
from models.report.tables import NONE, Table, decimal, group_title, percent, whole
from models.selector.ablation import AblationRow
from models.selector.subsets import subset_name

_PARAMS_CHARS = 6_000


@dataclass(frozen=True, slots=True)
class Rendered:
    """One page in both forms."""

    html: str
    markdown: str


def render(page: LearningPage) -> Rendered:
    """Lay out a page. TypeError for a kind of page that is not known here."""
    if isinstance(page, SweepPage):
        return _rendered(sweep_document(page), sweep_figures(page))
    if isinstance(page, SearchPage):
        return _rendered(search_document(page), search_figures(page))
    if isinstance(page, AblationPage):
        return _rendered(ablation_document(page), ablation_figures(page))
    raise TypeError(f"{type(page).__name__} has no layout")


def _rendered(page: Document, figures: Mapping[str, Figure]) -> Rendered:
    return Rendered(html(page, {name: figure.svg() for name, figure in figures.items()}), markdown(page))


def sweep_document(page: SweepPage) -> Document:
    """The page of a sweep: how subsets compare, where which is best, how much that is worth on held-out episodes."""
    facts = [f"{page.questions:,} questions × {len(page.analysis.subsets)} subsets", *_facts(page)]
    return document(page, [page.dataset, *facts], _sweep_cards(page), _sections(sweep_figures(page), sweep_tables(page)))


def search_document(page: SearchPage) -> Document:
    """The page of a search: what was found, how it does, how it was found, and its source."""
    facts = [page.dataset, f"split {page.split}", f"proposals by {page.proposer}", *_facts(page)]
    sections = _sections(search_figures(page), search_tables(page))
    noted = replace(page, notes=(f"Everything that was found lies in the home under {page.search}.", *page.notes))
    return document(noted, facts, _search_cards(page), [*sections, *_source(page)])


def ablation_document(page: AblationPage) -> Document:
    """The page of an ablation: the methods, and which differences are noise."""
    facts = [page.dataset, f"{page.splits} splits", f"proposals by {page.proposer}", *_facts(page)]
    noted = replace(page, notes=tuple(filter(None, (noise_note(page), *page.notes))))
    return document(noted, facts, _ablation_cards(page), _sections(ablation_figures(page), ablation_tables(page)))


def noise_note(page: AblationPage) -> str:
    """In one sentence, the methods that the reference cannot be told from; "" when there are none."""
    noise = [group_title(d.other) for d in page.differences if verdict(d.objective) == "noise"]
    if not noise:
        return ""
    return (
        f"Noise: the objective of {page.reference} cannot be told from that of {', '.join(noise)}; the {page.level_title} "
        "interval of each paired difference holds 0."
    )


_TITLES = {"tokens": "Score against evidence tokens", "curve": "The search"}


def _sections(figures: Mapping[str, Figure], tables: Mapping[str, Table]) -> list[Section]:
    """Figures with the tables of the same name: the result first, then the figures of the whole, then the rest."""
    names = ["results", "curve", "tokens", *tables, *figures]
    found = [_section(name, figures.get(name), tables.get(name)) for name in dict.fromkeys(names)]
    return [section for section in found if section.table or section.figure]


def _section(name: str, figure: Figure | None, table: Table | None) -> Section:
    title = table.title if table else _TITLES.get(name, name)
    if figure is None:
        return Section(name, title, table)
    return Section(name, title, table, figure.name, figure.caption, figure.description)


def _facts(page: LearningPage) -> list[str]:
    return [page.measured, f"λ {page.cost:g} per token", page.created_at]


def _sweep_cards(page: SweepPage) -> list[Card]:
    subsets = {found.subset: found for found in page.analysis.subsets}
    best = max(subsets.values(), key=lambda found: found.objective, default=None)
    everything = subsets.get(subset_name(page.structures))
    ceiling = page.analysis.oracle
    counts = f"{page.errors:,} errors, {page.parse_errors:,} unreadable verdicts"
    shown = [
        (f"best fixed subset, {best.subset}", (best.score, best.tokens)) if best else None,
        ("all structures", (everything.score, everything.tokens)) if everything else None,
        ("best subset of each question (a ceiling)", ceiling) if ceiling else None,
    ]
    return [
        *(Card(label, f"{percent(score)} %", f"{whole(tokens)} tokens") for label, (score, tokens) in filter(None, shown)),
        Card("outcomes", whole(page.outcomes), counts),
    ]


def _search_cards(page: SearchPage) -> list[Card]:
    test = {result.policy: result.evaluation for result in page.results if result.part == "test"}
    mine, everything = test.get("champion"), test.get("all")
    if mine is None or everything is None:
        return []
    saved = percent(1 - mine.tokens / everything.tokens) if everything.tokens else NONE
    states = [trial.status for trial in page.trials]
    return [
        Card("champion on test", f"{percent(mine.score)} %", f"all structures {percent(everything.score)} %"),
        Card("evidence tokens per question", whole(mine.tokens), f"{saved} % fewer than all structures"),
        Card("test objective", objective(mine.objective), f"all structures {objective(everything.objective)}"),
        Card("candidates", whole(len(states)), f"{states.count('valid'):,} valid"),
    ]


def _ablation_cards(page: AblationPage) -> list[Card]:
    rows = {row.name: row for row in page.rows}
    mine, everything = rows.get(page.reference), rows.get("all")
    if mine is None:
        return []
    found = [verdict(d.objective) for d in page.differences if d.other != "oracle"]
    worth = f"{found.count('worse')} worse, {found.count('noise')} noise"
    return [
        Card(f"objective of {page.reference}", objective(mine.objective), _beside(everything, "objective")),
        Card("score", f"{percent(mine.score)} %", _beside(everything, "score")),
        Card("evidence tokens per question", whole(mine.evidence_tokens), f"{decimal(mine.structures)} structures"),
        Card(f"methods that {page.reference} beats", f"{found.count('better')} of {len(found)}", worth),
    ]


def _beside(row: AblationRow | None, name: str) -> str:
    if row is None:
        return ""
    return f"all structures {objective(row.objective) if name == 'objective' else f'{percent(row.score)} %'}"


def _source(page: SearchPage) -> Sequence[Section]:
    found = page.champion
    params = found.params
    if len(params) > _PARAMS_CHARS:
        params = f"{params[:_PARAMS_CHARS]}\n… and {len(params) - _PARAMS_CHARS:,} more characters"
    title = f"Source of the champion, {found.id}: {group_title(found.direction)} ({found.role})"
    return [Section("source", title, code=found.source), Section("params", "What it fitted on train", code=params)]
