"""The ablation table: every way to choose structures on the same splits, and what the differences are worth (MESA, Table 3).

A method learns from train and validation and gives a chooser, which sees the test cases (question and context) but not their
outcomes. Baselines are built in; searched policies come as further methods:

    methods = {"mesa": learn_mesa, "without_ucb": ..., "without_priors": ...}
    result = ablate(table, make_splits(episodes), methods, AblationConfig(cost=1e-6))
    result.rows, result.differences

Every test part is read once, after all methods of its split have learned. Only the oracle sees its outcomes before choosing:
it is the ceiling and no method. Scores are means over the splits with the sample standard deviation. A difference is paired:
the same question of the same split under both methods, with a bootstrap interval that resamples whole episodes, because the
questions of an episode, and its appearances in several test parts, are not independent.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.aggregate import BootstrapConfig, Difference, bootstrap_interval
from models.selector.contract import Case, Evaluation, OutcomeTable
from models.selector.evaluate import evaluate
from models.selector.lookups import KINDS, Kind, Lookup, fit_lookup, letters_of, oracle, route_to_one, singles
from models.selector.policies import RandomPolicy
from models.selector.sandbox import Selection
from models.selector.subsets import subset_name
from models.splits import Split, episode_of, questions_of

Chooser = Callable[[Sequence[Case]], Sequence[Selection]]
"""Selections for some cases, in order."""

Learn = Callable[[OutcomeTable, OutcomeTable, int], Chooser]
"""Train outcomes, validation outcomes and the number of the split (a seed) to a chooser."""


@dataclass(frozen=True, slots=True)
class AblationConfig:
    """`cost` is lambda per evidence token; `reference` is the method that the others are compared with."""

    cost: float = 1e-6
    reference: str = "mesa"
    bootstrap: BootstrapConfig = field(default_factory=BootstrapConfig)


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One method on the test parts of all splits: means over splits, `*_std` sample deviations (None for one split).

    `questions` is the sum over splits; `invalid` and `errors` are summed too.
    """

    name: str
    score: float
    score_std: float | None
    evidence_tokens: float
    structures: float
    objective: float
    objective_std: float | None
    questions: int
    invalid: int
    errors: int
    splits: int


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The reference minus another method, question by question; tokens per question as well."""

    name: str
    other: str
    score: Difference
    objective: Difference
    tokens: Difference


@dataclass(frozen=True)
class AblationResult:
    """Rows in the order of the methods; differences against the reference, if it is among them."""

    rows: tuple[AblationRow, ...]
    differences: tuple[PairedDifference, ...]


def ablate(
    table: OutcomeTable, splits: Sequence[Split], methods: Mapping[str, Learn], config: AblationConfig | None = None
) -> AblationResult:
    """Learn and test `methods` and all baselines on every split of `table`.

    ValueError without splits, for a method that has a baseline's name, or when a part of a split has no questions.
    """
    settings = config or AblationConfig()
    learners = {**methods, **baselines(table, settings.cost)}
    if not splits or len(learners) != len(methods) + len(baselines(table, settings.cost)):
        raise ValueError("an ablation needs at least one split, and methods with other names than the baselines")
    tested: dict[str, list[_Tested]] = {name: [] for name in [*learners, "oracle"]}
    for number, split in enumerate(splits):
        for name, outcome in _run_split(table, split, number, learners, settings.cost).items():
            tested[name].append(outcome)
    rows = tuple(_row(name, outcomes) for name, outcomes in tested.items())
    return AblationResult(rows, _differences(tested, settings))


def baselines(table: OutcomeTable, cost: float) -> dict[str, Learn]:
    """Methods without a search: all, each structure alone, random, route-to-one and the four fixed lookups."""
    letters = letters_of(table)
    return {
        "all": _fixed(subset_name(letters)),
        **{name: _fixed(name) for name in singles(table)},
        "random": lambda train, validation, seed: _random(RandomPolicy(letters, seed)),
        "route_to_one": lambda train, validation, seed: _looked_up(route_to_one(train, validation, cost)),
        **{f"lookup_{kind}": _lookup(kind, cost) for kind in KINDS},
    }


@dataclass(frozen=True)
class _Tested:
    """One method on one test part: its evaluation and per-question values (n,), NaN where the outcome is an error."""

    evaluation: Evaluation
    episodes: tuple[str, ...]
    score: NDArray[np.float64]
    tokens: NDArray[np.float64]


def _run_split(
    table: OutcomeTable, split: Split, number: int, learners: Mapping[str, Learn], cost: float
) -> dict[str, _Tested]:
    """Everything learns before the test part is made."""
    train, validation = (_part(table, ids, name) for ids, name in ((split.train, "train"), (split.validation, "validation")))
    choosers = {name: learn(train, validation, number) for name, learn in learners.items()}
    test = _part(table, split.test, "test")
    chosen = {name: choose(test.cases) for name, choose in choosers.items()}
    chosen["oracle"] = [Selection(subset) for subset in oracle(test, cost)]
    return {name: _test(selections, test, cost) for name, selections in chosen.items()}


def _part(table: OutcomeTable, episodes: Sequence[str], name: str) -> OutcomeTable:
    part = table.part(questions_of([case.question_id for case in table.cases], episodes))
    if not part.cases:
        raise ValueError(f"the {name} part of a split has no question in the outcomes: sweep its episodes first")
    return part


def _test(selections: Sequence[Selection], table: OutcomeTable, cost: float) -> _Tested:
    columns = [table.subsets.index(selection.subset) for selection in selections]
    cells = np.arange(len(table.cases)), np.array(columns)
    scores = table.scores[cells]
    tokens = np.where(np.isfinite(scores), table.tokens[cells], np.nan)
    episodes = tuple(episode_of(case.question_id) for case in table.cases)
    return _Tested(evaluate(selections, table, cost), episodes, scores, tokens)


def _row(name: str, outcomes: Sequence[_Tested]) -> AblationRow:
    found = [outcome.evaluation for outcome in outcomes]
    scores, objectives = [e.score for e in found], [e.objective for e in found]
    return AblationRow(
        name=name,
        score=statistics.fmean(scores),
        score_std=_std(scores),
        evidence_tokens=statistics.fmean(e.tokens for e in found),
        structures=statistics.fmean(e.n_structures for e in found),
        objective=statistics.fmean(objectives),
        objective_std=_std(objectives),
        questions=sum(e.n for e in found),
        invalid=sum(e.invalid for e in found),
        errors=sum(e.errors for e in found),
        splits=len(found),
    )


def _std(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def _differences(tested: Mapping[str, Sequence[_Tested]], config: AblationConfig) -> tuple[PairedDifference, ...]:
    if config.reference not in tested:
        return ()
    mine = _pooled(tested[config.reference])
    others = (name for name in tested if name != config.reference)
    return tuple(_paired(config, name, mine, _pooled(tested[name])) for name in others)


def _pooled(outcomes: Sequence[_Tested]) -> _Tested:
    """The questions of all splits in one."""
    return _Tested(
        outcomes[0].evaluation,
        tuple(episode for outcome in outcomes for episode in outcome.episodes),
        np.concatenate([outcome.score for outcome in outcomes]),
        np.concatenate([outcome.tokens for outcome in outcomes]),
    )


def _paired(config: AblationConfig, other: str, mine: _Tested, theirs: _Tested) -> PairedDifference:
    score, tokens = mine.score - theirs.score, mine.tokens - theirs.tokens
    parts = (_difference(gaps, mine.episodes, config) for gaps in (score, score - config.cost * tokens, tokens))
    return PairedDifference(config.reference, other, *parts)


def _difference(gaps: NDArray[np.float64], episodes: Sequence[str], config: AblationConfig) -> Difference:
    known = gaps[np.isfinite(gaps)]
    bootstrap = config.bootstrap
    rng = np.random.default_rng(bootstrap.seed)
    interval = bootstrap_interval(gaps, episodes, rng, resamples=bootstrap.resamples, level=bootstrap.level)
    return Difference(float(known.mean()) if known.size else None, interval, int(known.size))


def _fixed(subset: str) -> Learn:
    return lambda train, validation, seed: lambda cases: [Selection(subset)] * len(cases)


def _random(policy: RandomPolicy) -> Chooser:
    return lambda cases: [Selection(policy.select(case.question_id)) for case in cases]


def _lookup(kind: Kind, cost: float) -> Learn:
    return lambda train, validation, seed: _looked_up(fit_lookup(validation, cost, kind))


def _looked_up(lookup: Lookup) -> Chooser:
    return lambda cases: [Selection(lookup.select(case)) for case in cases]
