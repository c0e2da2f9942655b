"""The page of a router training: what stands on it, in which order.

    render_training(page).html

`models.report.document` lays it out and escapes every text.
"""

from __future__ import annotations

from dataclasses import replace

from models.report.document import Card, Document, Section, document, html, markdown
from models.report.learning_page import Rendered
from models.report.svg import Figure
from models.report.tables import Table, group_title, interval, percent, whole
from models.report.training import TrainingPage
from models.report.training_figures import training_figures
from models.report.training_tables import training_tables

_AGAINST = "fusion"


def render_training(page: TrainingPage) -> Rendered:
    """Lay out a training in both forms."""
    figures = training_figures(page)
    laid_out = training_document(page, figures)
    return Rendered(html(laid_out, {name: figure.svg() for name, figure in figures.items()}), markdown(laid_out))


def training_document(page: TrainingPage, figures: dict[str, Figure]) -> Document:
    """The page of a training: what it is worth, how it went, where it works, and one walk."""
    folds = len({fold.fold for fold in page.folds})
    facts = [page.dataset, f"preset {page.preset}", f"seed {page.seed}", f"{folds} folds", page.created_at]
    noted = replace(page, notes=(f"The weights of all folds lie in the home under {page.router}.", *page.notes))
    return document(noted, facts, _cards(page), _sections(page, figures, training_tables(page)))


def _sections(page: TrainingPage, figures: dict[str, Figure], tables: dict[str, Table]) -> list[Section]:
    """Figures with the tables of the same name: what it is worth, the curves, then the rest."""
    stages = list(dict.fromkeys(record.stage for fold in page.folds for record in fold.history))
    titles = {f"curves-{number}": f"Training, stage {group_title(stage)}" for number, stage in enumerate(stages, 1)}
    sections = []
    for name in dict.fromkeys(("recall", "walks", *titles, *tables, *figures)):
        figure, table = figures.get(name), tables.get(name)
        title = table.title if table else titles.get(name, name)
        if figure is not None:
            sections.append(Section(name, title, table, figure.name, figure.caption, figure.description))
        elif table is not None:
            sections.append(Section(name, title, table))
    return sections


def _cards(page: TrainingPage) -> list[Card]:
    return [*_recall_cards(page), *_walk_cards(page), Card("test questions", whole(page.questions), "each tested once")]


def _recall_cards(page: TrainingPage) -> list[Card]:
    gaps = {gap.depth: gap for gap in page.gaps.get(_AGAINST, ())}
    cards = []
    for depth in page.depths:
        gap = gaps.get(depth)
        beside = "" if gap is None else f"{100 * gap.mean:+.1f} against {_AGAINST}"
        if gap is not None and gap.interval is not None:
            beside += f" ({interval(gap.interval)})"
        cards.append(Card(f"evidence recall of H at {depth}", f"{percent(page.recall.get('H', {}).get(depth))} %", beside))
    return cards


def _walk_cards(page: TrainingPage) -> list[Card]:
    kept = [scores for scores in page.walks if scores.mode == page.mode]
    return [
        Card(
            f"success of walks, {group_title(scores.mode)}",
            f"{percent(scores.success)} %",
            f"{percent(scores.moved_success)} % without zero steps",
        )
        for scores in kept
    ]
