"""Tables of a sweep's page: subsets overall and by domain and capability, how much to read, what a cache can reuse."""

from __future__ import annotations

from models.report.learning import LearningPage, SweepPage
from models.report.learning_figures import cell_titles
from models.report.learning_tables import METHOD_COLUMNS, filled, method_row, objective, row, use_table
from models.report.tables import NONE, Table, percent, whole
from models.selector.analysis import Group
from models.selector.lookups import Kind, SizeShares
from models.selector.subsets import subset_name


def sweep_tables(page: SweepPage) -> dict[str, Table]:
    """The tables of a sweep by name, in reading order; those without rows are left out."""
    groups = [_groups(page, kind, title) for kind, title in _GROUPS.items()]
    return filled([_subsets(page), _held_out(page), *groups, use_table(page, page.analysis.use), _sizes(page), _reuse(page)])


def _subsets(page: SweepPage) -> Table:
    found = sorted(page.analysis.subsets, key=lambda best: -best.objective)
    rows = [
        row(b.subset, percent(b.score), whole(b.tokens), objective(b.objective), whole(b.n), strong=i == 0)
        for i, b in enumerate(found)
    ]
    if page.analysis.oracle is not None:
        score, tokens = page.analysis.oracle
        rows.append(row("best of each question", percent(score), whole(tokens), objective(score - page.cost * tokens), ""))
    caption = (
        f"{page.measured}. Means over the questions whose outcome is no error. Objective: score minus {page.cost:g} per "
        "evidence token. The best subset of each question is chosen by its outcome: a ceiling, no selector."
    )
    columns = ("subset", "score (%)", "evidence tokens", "objective", "questions")
    return Table("tokens", "All subsets", caption, columns, tuple(rows))


_GROUPS: dict[Kind, str] = {
    "domain": "Best subset by domain",
    "capability": "Best subset by capability",
    "domain_capability": "Best subset by domain and capability",
}


def _groups(page: SweepPage, kind: Kind, title: str) -> Table:
    groups = page.analysis.groups[kind] if _divides(page, kind) else ()
    titles = cell_titles([group.cell for group in groups])
    rows = [row(name, *_group(page, group)) for name, group in zip(titles, groups, strict=True)]
    caption = (
        f"{page.measured}. Best: the highest objective, so of about equal scores the cheaper subset; beside it the subset "
        "with the highest score, and all structures. Chosen on the questions that they are scored on."
    )
    columns = ("questions of", "n", "best", "score (%)", "tokens", "highest", "score (%)", "all (%)")
    return Table(f"by-{kind.replace('_', '-')}", title, caption, columns, tuple(rows))


def _divides(page: SweepPage, kind: Kind) -> bool:
    """Whether the groups are other than all questions, or those of a coarser table."""
    found = page.analysis.groups
    if kind == "domain_capability":
        return len(found["domain"]) > 1 and len(found["capability"]) > 1
    return len(found[kind]) > 1


def _group(page: LearningPage, group: Group) -> tuple[str, ...]:
    best, top = group.best, group.top
    everything = percent(group.scores.get(subset_name(page.structures)))
    return whole(group.n), best.subset, percent(best.score), whole(best.tokens), top.subset, percent(top.score), everything


def _sizes(page: SweepPage) -> Table:
    names = {"categories": "best subset of a domain or capability", "questions": "best subset of a question"}
    rows = [row(names[name], *_size_cells(sizes)) for name, sizes in page.analysis.sizes.items()]
    caption = (
        "How many of the best subsets are one structure, several, or all; shares of those decided. Undecided: questions "
        "that no subset answers above 0."
    )
    columns = ("best by objective", "single", "intermediate", "all", "undecided")
    return Table("sizes", "How much to read", caption, columns, tuple(rows))


def _size_cells(sizes: SizeShares) -> tuple[str, ...]:
    counts = (sizes.single, sizes.intermediate, sizes.full)
    return *(f"{count:,} ({percent(count / sizes.n)} %)" if sizes.n else NONE for count in counts), f"{sizes.undecided:,}"


def _reuse(page: SweepPage) -> Table:
    rows = [
        row(name, whole(r.prompt_tokens), whole(r.computed_tokens), percent(r.reused_share), f"{r.ratio:.1f}")
        for name, r in page.reuse.items()
    ]
    caption = (
        "Prompt tokens of the whole sweep that a server with prefix caching need not compute again, by the order of the "
        "evidence sections. The most that a cache can save: real ones share whole blocks and evict."
    )
    columns = ("order", "prompt tokens", "to compute", "reused (%)", "times fewer")
    return Table("prefix-cache", "What a prefix cache can reuse", caption, columns, tuple(rows))


def _held_out(page: SweepPage) -> Table:
    ranked = sorted(page.held_out, key=lambda method: -method.objective)
    caption = (
        f"{page.measured}. Mean over the test parts of {page.splits} splits by episode (2:2:6), sample standard deviation. "
        "Lookups are chosen on validation, route to one on train and validation; the oracle sees the test outcomes: a "
        "ceiling."
    )
    rows = tuple(method_row(method) for method in ranked)
    return Table("held-out", "Fixed selection on held-out episodes", caption, METHOD_COLUMNS, rows)
