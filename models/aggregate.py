"""From per-question rows to the numbers of a report: means with intervals, by capability, domain and cell.

A row is one question answered under one policy or subset. Columns read here: `question_id`, `score`, `status`,
`evidence_tokens`, `n_structures`, `capability`, `domain`; others are ignored. Rules:

- Only rows with status `ok` have a score. `error` and `parse_error` never count as wrong answers; they are counted apart.
- A group without a score has the mean None, never 0.
- Adversarial questions are summarised apart and are in no other number unless asked for.
- Intervals resample whole episodes, because the questions of one episode share its evidence and are not independent.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

ADVERSARIAL = "adversarial"
_STATUSES = ("ok", "error", "parse_error")
_DRAWS_AT_ONCE = 1 << 20

K = TypeVar("K", bound=Hashable)
Row = Mapping[str, Any]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class BootstrapConfig:
    """How uncertain a mean is said to be: the percentile interval at `level` over `resamples` draws of the episodes."""

    resamples: int = 2000
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """One group of rows. Means are None where the group has no data; `n` counts the rows behind `score`.

    `errors` are rows without an answer (and `ok` rows without a finite score), `parse_errors` rows whose verdict could not
    be read. `evidence_tokens` and `n_structures` are means per question over all rows that carry them.
    """

    score: float | None
    interval: Interval | None
    n: int
    errors: int
    parse_errors: int
    evidence_tokens: float | None
    n_structures: float | None

    @property
    def total(self) -> int:
        return self.n + self.errors + self.parse_errors

    @property
    def error_rate(self) -> float | None:
        return self.errors / self.total if self.total else None

    @property
    def parse_error_rate(self) -> float | None:
        return self.parse_errors / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """Everything a report says about the answers of one policy.

    `cell_mean` is the mean over the domain x capability cells that have a score, the headline of AMA-Bench's leaderboard;
    `overall.score` is the mean over questions. `adversarial` is None when there are no such questions, `audited` when no
    wrong gold answers were named: it leaves those questions out.
    """

    overall: Summary
    cell_mean: float | None
    by_capability: dict[str, Summary] = field(default_factory=dict)
    by_domain: dict[str, Summary] = field(default_factory=dict)
    adversarial: Summary | None = None
    audited: Summary | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of (first - second) over the `n` questions that both policies answered, with its interval."""

    mean: float | None
    interval: Interval | None
    n: int


def summarise_by(
    rows: pa.Table | Iterable[Row],
    column: str = "policy",
    *,
    wrong_golds: Collection[str] = (),
    include_adversarial: bool = False,
    bootstrap: BootstrapConfig | None = None,
) -> dict[str, PolicySummary]:
    """`summarise` for each value of `column` (`policy`, `subset`), in order of first appearance.

    Every value gets the same bootstrap seed: policies on the same questions are resampled alike.
    """
    groups = _group(_records(rows), lambda row: str(row[column]))
    return {
        name: summarise(group, wrong_golds=wrong_golds, include_adversarial=include_adversarial, bootstrap=bootstrap)
        for name, group in groups.items()
    }


def summarise(
    rows: pa.Table | Iterable[Row],
    *,
    wrong_golds: Collection[str] = (),
    include_adversarial: bool = False,
    bootstrap: BootstrapConfig | None = None,
) -> PolicySummary:
    """The summary of one policy's rows, at most one per question.

    `wrong_golds` are ids of questions whose gold answer an audit found wrong. ValueError for a question that comes twice or
    a status that is unknown.
    """
    config = bootstrap or BootstrapConfig()
    records = _records(rows)
    _check(records)
    adversarial = [row for row in records if row.get("capability") == ADVERSARIAL]
    counted = records if include_adversarial else [row for row in records if row.get("capability") != ADVERSARIAL]
    wrong = frozenset(wrong_golds)
    return PolicySummary(
        overall=_summary(counted, config),
        cell_mean=_cell_mean(counted),
        by_capability=_summaries(counted, "capability", config),
        by_domain=_summaries(counted, "domain", config),
        adversarial=_summary(adversarial, config) if adversarial else None,
        audited=_summary([row for row in counted if row["question_id"] not in wrong], config) if wrong else None,
    )


def difference(
    first: pa.Table | Iterable[Row], second: pa.Table | Iterable[Row], bootstrap: BootstrapConfig | None = None
) -> Difference:
    """How much better `first` scores than `second` on the questions that both have a score for (paired)."""
    config = bootstrap or BootstrapConfig()
    scores, others = _scores(_records(first)), _scores(_records(second))
    both = sorted(scores.keys() & others.keys())
    gaps = [scores[question] - others[question] for question in both]
    return Difference(_mean(gaps), _interval(gaps, both, config), len(both))


def bootstrap_interval(
    scores: ArrayLike,
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    *,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval | None:
    """Percentile interval of the mean of `scores` (n,), resampling whole clusters (n labels) with replacement.

    NaN scores are left out. None when fewer than two clusters remain: nothing can be said from one.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (len(clusters),):
        raise ValueError(f"{values.size} scores but {len(clusters)} clusters")
    kept = np.isfinite(values)
    names: dict[Hashable, int] = {}
    codes = np.array([names.setdefault(c, len(names)) for c, keep in zip(clusters, kept, strict=True) if keep], np.int64)
    if len(names) < 2:
        return None
    sums = np.bincount(codes, values[kept]).astype(np.float64)
    sizes = np.bincount(codes).astype(np.int64)
    means = np.sort(_resampled_means(sums, sizes, rng, resamples))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def pareto_frontier(points: Sequence[tuple[float | None, float | None]]) -> list[int]:
    """Indices of the (evidence tokens, score) points that no other point beats, by rising tokens.

    A point is beaten by one that costs no more and scores no less, one of the two strictly. Points with a None are never on
    the frontier; equal points are on it together.
    """
    usable = [(tokens, -score, i) for i, (tokens, score) in enumerate(points) if tokens is not None and score is not None]
    frontier: list[int] = []
    best = (math.inf, math.inf)  # (-score, tokens) of the last point that improved
    for tokens, negative, i in sorted(usable):
        if negative < best[0] or (negative, tokens) == best:
            frontier.append(i)
            best = (negative, tokens)
    return frontier


def _resampled_means(
    sums: NDArray[np.float64], sizes: NDArray[np.int64], rng: np.random.Generator, resamples: int
) -> NDArray[np.float64]:
    n = len(sums)
    at_once = max(1, _DRAWS_AT_ONCE // n)  # bounds the memory for data sets of many episodes
    means = []
    for start in range(0, resamples, at_once):
        drawn = rng.integers(0, n, size=(min(at_once, resamples - start), n))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return np.concatenate(means)


def _records(rows: pa.Table | Iterable[Row]) -> list[Row]:
    return rows.to_pylist() if isinstance(rows, pa.Table) else list(rows)


def _check(rows: Sequence[Row]) -> None:
    seen: set[str] = set()
    for row in rows:
        if row["status"] not in _STATUSES:
            raise ValueError(
                f"{row['question_id']}: unknown status {row['status']!r}, expected one of {', '.join(_STATUSES)}"
            )
        if row["question_id"] in seen:
            raise ValueError(f"{row['question_id']} comes twice: give the rows of one policy")
        seen.add(row["question_id"])


def _group(rows: Iterable[Row], key: Callable[[Row], K]) -> dict[K, list[Row]]:
    groups: dict[K, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def _summaries(rows: Sequence[Row], column: str, config: BootstrapConfig) -> dict[str, Summary]:
    labelled = [row for row in rows if row.get(column)]
    groups = _group(labelled, lambda row: str(row[column]))
    return {name: _summary(groups[name], config) for name in sorted(groups)}


def _summary(rows: Sequence[Row], config: BootstrapConfig) -> Summary:
    scores = _scores(rows)
    parse_errors = sum(row["status"] == "parse_error" for row in rows)
    return Summary(
        score=_mean(list(scores.values())),
        interval=_interval(list(scores.values()), list(scores), config),
        n=len(scores),
        errors=len(rows) - len(scores) - parse_errors,
        parse_errors=parse_errors,
        evidence_tokens=_mean(_numbers(rows, "evidence_tokens")),
        n_structures=_mean(_numbers(rows, "n_structures")),
    )


def _scores(rows: Iterable[Row]) -> dict[str, float]:
    """The score of each question that has one, by question id, so that the order of the rows changes nothing."""
    answered = [row for row in rows if row["status"] == "ok" and _is_number(row["score"])]
    return {
        str(row["question_id"]): float(row["score"]) for row in sorted(answered, key=lambda row: str(row["question_id"]))
    }


def _numbers(rows: Iterable[Row], column: str) -> list[float]:
    return [float(row[column]) for row in rows if _is_number(row.get(column))]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _interval(values: Sequence[float], question_ids: Sequence[str], config: BootstrapConfig) -> Interval | None:
    episodes = [question_id.rsplit("/", 1)[0] for question_id in question_ids]
    rng = np.random.default_rng(config.seed)
    return bootstrap_interval(values, episodes, rng, resamples=config.resamples, level=config.level)


def _cell_mean(rows: Sequence[Row]) -> float | None:
    cells = _group(rows, lambda row: (row.get("domain"), row.get("capability")))
    means = [_mean(list(_scores(cell).values())) for cell in cells.values()]
    return _mean([mean for mean in means if mean is not None])
