"""Tables of a training's page. Recall and success are in percent; a number that was not measured is a dash."""

from __future__ import annotations

from collections.abc import Mapping

from models.report.learning_tables import filled, row
from models.report.tables import NONE, Table, group_title, interval, percent, whole
from models.report.training import Recalls, TrainedFold, TrainingPage
from models.report.walk_picture import event_name, strongest
from models.router.evaluate import RecallGap
from storage.structures.event_index import Hop

_RECALL = "Share of a question's gold evidence among the first events of each method, mean over questions of episodes that "
_UNSEEN = "the router was neither trained nor chosen on"
_TESTS = 6
"""So many test episodes of a fold are named."""


def training_tables(page: TrainingPage) -> dict[str, Table]:
    """The tables by name, in reading order; those without rows are left out."""
    return filled([_recall(page), _walks(page), _folds(page), _capabilities(page), _walk(page), _epochs(page)])


def _recall(page: TrainingPage) -> Table:
    rows = []
    for method in page.methods:
        gaps = {gap.depth: gap for gap in page.gaps.get(method, ())}
        cells = [cell for depth in page.depths for cell in _gap(gaps.get(depth))]
        rows.append(row(method, *_at(page.recall[method], page), *cells, strong=method == "H"))
    caption = (
        f"{_RECALL}{_UNSEEN}. The differences are paired by question; {page.level_title} intervals resample whole episodes. "
        "Dense: cosine; fusion: reciprocal ranks of dense and BM25."
    )
    columns = [f"at {depth} (%)" for depth in page.depths]
    columns += [name for depth in page.depths for name in (f"H − it at {depth}", f"{page.level_title} interval")]
    return Table("recall", "Evidence recall", caption, ("method", *columns), tuple(rows))


def _gap(gap: RecallGap | None) -> tuple[str, str]:
    if gap is None:
        return NONE, NONE
    return f"{100 * gap.mean:+.1f}", interval(gap.interval)


def _at(by_depth: Mapping[int, float] | None, page: TrainingPage) -> list[str]:
    return [percent((by_depth or {}).get(depth)) for depth in page.depths]


def _walks(page: TrainingPage) -> Table:
    rows = tuple(
        row(
            group_title(scores.mode),
            percent(scores.success),
            percent(scores.moved_success),
            percent(scores.recall),
            NONE if scores.reward is None else f"{scores.reward:.2f}",
            strong=scores.mode == page.mode,
        )
        for scores in page.walks
    )
    caption = (
        "Greedy walks from one start on test episodes, means over the folds. Success: all gold evidence was walked over; "
        "without zero steps: questions that the start alone answered are left out. Random, cosine and static learned "
        "nothing. Bold: the mode that structure H walks with."
    )
    columns = ("walk", "success (%)", "without zero steps (%)", "recall (%)", "reward")
    return Table("walks", "Success of walks", caption, columns, rows)


def _folds(page: TrainingPage) -> Table:
    tests = {fold.fold: fold.test for fold in page.folds if fold.mode == page.mode}
    rows = {f"{number}: {_named(tests.get(number, ()))}": recalls for number, recalls in page.by_fold.items()}
    return _divided(page, "folds", "Recall by fold", "fold: test episodes", rows)


def _named(episodes: tuple[str, ...]) -> str:
    more = f" and {len(episodes) - _TESTS} more" if len(episodes) > _TESTS else ""
    return ", ".join(episodes[:_TESTS]) + more


def _capabilities(page: TrainingPage) -> Table:
    rows = {group_title(name) or "unknown": recalls for name, recalls in page.by_capability.items()}
    return _divided(page, "capabilities", "Recall by capability", "questions of", rows if len(rows) > 1 else {})


def _divided(page: TrainingPage, name: str, title: str, first: str, rows: Mapping[str, Recalls]) -> Table:
    cells = [
        row(heading, *(text for method in page.methods for text in _at(recalls.get(method), page)))
        for heading, recalls in rows.items()
    ]
    columns = (first, *(f"{method} at {depth} (%)" for method in page.methods for depth in page.depths))
    return Table(name, title, f"{_RECALL}{_UNSEEN}.", columns, tuple(cells))


def _walk(page: TrainingPage) -> Table:
    hops = page.walk.hops if page.walk else ()
    names = {hop.step: event_name(hop) for hop in hops}
    rows = tuple(row(f"{number}. {event_name(hop)}", *_hop(hop, names)) for number, hop in enumerate(hops, 1))
    caption = "The same walk, best event first. Strengths are those of the edge to the event, before the router weighs them."
    columns = ("event", "step", "score", "reached from", "relations, strongest first")
    return Table("walk", "One walk", caption, columns, rows)


def _hop(hop: Hop, names: Mapping[int, str]) -> tuple[str, ...]:
    ranked = sorted(hop.relations.items(), key=lambda item: (item[0] != strongest(hop.relations), -item[1]))
    relations = ", ".join(f"{name} {strength:.2f}" for name, strength in ranked)
    origin = "anchor" if hop.origin is None else names.get(hop.origin, f"step {hop.origin}")
    return whole(hop.step), f"{hop.score:.3f}", origin, relations or NONE


def _epochs(page: TrainingPage) -> Table:
    stages = tuple(dict.fromkeys(stage for fold in page.folds for stage in _stages(fold)))
    several = len({fold.mode for fold in page.folds}) > 1
    rows = tuple(
        row(
            f"{group_title(fold.mode)}, fold {fold.fold}" if several else f"fold {fold.fold}",
            percent(fold.validation),
            *_best(fold, stages),
        )
        for fold in page.folds
    )
    caption = (
        "Validation: the number by which the kept epoch of the last stage was chosen (success of walks, or recall of the "
        "ranking), on episodes that are in neither train nor test. Epochs are counted from 0."
    )
    columns = ("weights", "validation (%)", *(f"best epoch, {group_title(stage)}" for stage in stages))
    return Table("epochs", "Chosen epochs", caption, columns, rows)


def _stages(fold: TrainedFold) -> tuple[str, ...]:
    """In the order of training, then those that only have a best epoch."""
    return (*dict.fromkeys(record.stage for record in fold.history), *sorted(fold.best_epochs))


def _best(fold: TrainedFold, stages: tuple[str, ...]) -> list[str]:
    counts = {stage: sum(record.stage == stage for record in fold.history) for stage in stages}
    return [f"{fold.best_epochs[s]} of {counts[s]}" if s in fold.best_epochs else NONE for s in stages]
