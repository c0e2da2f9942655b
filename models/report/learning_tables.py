"""Tables of the pages about learning. Scores are in percent; objectives are score in [0, 1] minus lambda * tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from models.aggregate import Difference, Interval
from models.report.learning import AblationPage, LearningPage, SearchPage, Verdict, verdict
from models.report.learning_figures import cell_titles
from models.report.tables import NONE, Cell, Table, group_title, interval, percent, printable, whole
from models.selector.ablation import AblationRow
from models.selector.analysis import StructureUse
from models.selector.contract import Evaluation

_REASONS = 12
_REASON_CHARS = 160


def search_tables(page: SearchPage) -> dict[str, Table]:
    """The tables of a search by name, in reading order; those without rows are left out."""
    return filled([_results(page), use_table(page, page.use), _arms(page), _candidates(page), _reasons(page)])


def ablation_tables(page: AblationPage) -> dict[str, Table]:
    """The tables of an ablation by name, in reading order; those without rows are left out."""
    return filled([_methods(page), _differences(page)])


def objective(value: float | None) -> str:
    """An objective with four decimals."""
    return NONE if value is None else f"{value:.4f}"


def filled(tables: Sequence[Table]) -> dict[str, Table]:
    """The tables by name, made printable; those without rows are left out."""
    return {table.name: printable(table) for table in tables if table.rows}


def row(*texts: str, strong: bool = False) -> tuple[Cell, ...]:
    """A row of cells."""
    return tuple(Cell(text, strong) for text in texts)


def use_table(page: LearningPage, used: Sequence[StructureUse]) -> Table:
    """How often selections read each structure."""
    titles = cell_titles([use.cell for use in used])
    rows = [
        row(title, whole(use.n), *(percent(use.shares.get(letter, 0.0)) for letter in page.structures), _mean_size(use))
        for title, use in zip(titles, used, strict=True)
    ]
    columns = ("questions of", "n", *(f"{letter} (%)" for letter in page.structures), "structures")
    return Table("use", "Use of structures", "The numbers of the figure, and structures per question.", columns, tuple(rows))


def _mean_size(use: StructureUse) -> str:
    return f"{use.n_structures:.2f}"


METHOD_COLUMNS = (
    "method",
    "score (%)",
    "± std",
    "evidence tokens",
    "structures",
    "objective",
    "± std",
    "questions",
    "failed",
    "errors",
)


def _methods(page: AblationPage) -> Table:
    caption = (
        f"{page.measured}. Mean over the test parts of {page.splits} splits by episode (2:2:6), sample standard deviation; "
        f"tokens and structures per question; objective: score minus {page.cost:g} per token. Failed: questions on which a "
        "policy failed and read all structures. The oracle sees the test outcomes: a ceiling, no method."
    )
    rows = tuple(method_row(method, method.name == page.reference) for method in page.ranked)
    return Table("tokens", "Methods", caption, METHOD_COLUMNS, rows)


def method_row(method: AblationRow, strong: bool = False) -> tuple[Cell, ...]:
    """One method's numbers in the order of `METHOD_COLUMNS`."""
    return row(
        group_title(method.name),
        percent(method.score),
        percent(method.score_std),
        whole(method.evidence_tokens),
        f"{method.structures:.2f}",
        objective(method.objective),
        objective(method.objective_std),
        whole(method.questions),
        whole(method.invalid),
        whole(method.errors),
        strong=strong,
    )


def _differences(page: AblationPage) -> Table:
    places = {method.name: place for place, method in enumerate(page.ranked)}
    rows = [
        row(
            f"{group_title(d.name)} − {group_title(d.other)}",
            _VERDICTS[verdict(d.objective)].format(group_title(d.name)),
            _gap(d.objective),
            _ends(d.objective.interval, 4),
            NONE if d.score.mean is None else f"{100 * d.score.mean:+.1f}",
            interval(d.score.interval),
            NONE if d.tokens.mean is None else f"{d.tokens.mean:+,.0f}",
            _ends(d.tokens.interval, 0),
            whole(d.objective.n),
        )
        for d in sorted(page.differences, key=lambda d: places[d.other])
    ]
    level = page.level_title
    caption = (
        f"{page.reference} minus each other method, paired by question of the same split; {level} intervals resample whole "
        "episodes. Noise: the interval of the objective holds 0. Each interval stands for itself: of twenty between "
        "equals about one leaves out 0."
    )
    span = f"{level} interval"
    columns = ("difference", "verdict", "objective", span, "points", span, "tokens", span, "n")
    return Table("differences", "What the differences are worth", caption, columns, tuple(rows))


_VERDICTS: dict[Verdict, str] = {"better": "{} better", "worse": "{} worse", "noise": "noise", "unknown": NONE}


def _gap(difference: Difference) -> str:
    """A signed difference of objectives."""
    return NONE if difference.mean is None else f"{difference.mean:+.4f}"


def _ends(ends: Interval | None, digits: int) -> str:
    return NONE if ends is None else f"{ends[0]:+,.{digits}f} to {ends[1]:+,.{digits}f}"


def _results(page: SearchPage) -> Table:
    rows = [
        row(f"{r.policy}, {r.part}", *_evaluation(r.evaluation), strong=(r.policy, r.part) == ("champion", "test"))
        for r in page.results
    ]
    caption = (
        f"{page.measured}. Objective: score minus {page.cost:g} per evidence token. The champion was chosen by validation "
        "and then run on test once. Failed: questions on which it failed and read all structures."
    )
    columns = ("policy", "score (%)", "evidence tokens", "objective", "structures", "questions", "failed", "errors")
    return Table("results", "Champion and all structures", caption, columns, tuple(rows))


def _evaluation(e: Evaluation) -> tuple[str, ...]:
    numbers = (percent(e.score), whole(e.tokens), objective(e.objective), f"{e.n_structures:.2f}")
    return (*numbers, whole(e.n), whole(e.invalid), whole(e.errors))


def _arms(page: SearchPage) -> Table:
    ranked = sorted(page.arms, key=lambda arm: -arm.ucb)
    rows = [
        row(
            group_title(arm.direction),
            whole(page.tries.get(arm.direction, 0)),
            whole(arm.n),
            objective(arm.mean),
            objective(arm.ucb),
            strong=arm.direction == page.champion.direction,
        )
        for arm in ranked
    ]
    caption = (
        "Candidates proposed and evaluated by direction, the mean of their validation objectives and the upper confidence "
        "bound at the end. A direction without an evaluated candidate has the best objective for its mean. Bold: the "
        "champion's."
    )
    columns = ("direction", "proposed", "evaluated", "mean objective", "UCB")
    return Table("arms", "Directions", caption, columns, tuple(rows))


def _candidates(page: SearchPage) -> Table:
    states = ("valid", "invalid", "duplicate")
    counts = Counter((trial.role, trial.status) for trial in page.trials)
    roles = dict.fromkeys(trial.role for trial in page.trials)
    rows = [
        row(role, *(whole(counts[role, state]) for state in states), whole(sum(counts[role, state] for state in states)))
        for role in roles
    ]
    totals = [sum(counts[role, state] for role in roles) for state in states]
    everything = row("all", *map(whole, totals), whole(sum(totals)))
    caption = "Proposals by role. Invalid ones failed or were not ranked; duplicates have the source of an earlier one."
    columns = ("role", *states, "proposed")
    return Table("candidates", "Candidates", caption, columns, (*rows, everything) if rows else ())


def _reasons(page: SearchPage) -> Table:
    counts = Counter(trial.reason[:_REASON_CHARS] for trial in page.trials if trial.reason)
    rows = tuple(row(reason, whole(count)) for reason, count in counts.most_common(_REASONS))
    return Table("reasons", "Why candidates were refused", "The most frequent reasons.", ("reason", "candidates"), rows)
