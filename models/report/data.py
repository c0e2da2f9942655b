"""What a report page is made of: numbers and words, no layout. All text may come from data and is untrusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.aggregate import Difference, PolicySummary

METRIC_TITLES = {
    "judge": "LLM-judged accuracy",
    "locomo_f1": "LoCoMo F1",
    "ama_f1": "AMA-Bench F1",
    "exact_match": "Exact match",
    "support": "Support (upper bound, no answers)",
}


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One policy, subset or baseline. `chosen` marks the one that the report is about; `support` is a mean in [0, 1].

    `build_seconds` and `build_tokens` are totals for the structures it reads, `access_*_ms` percentiles per question.
    """

    name: str
    summary: PolicySummary
    support: float | None = None
    build_seconds: float | None = None
    build_tokens: float | None = None
    access_p50_ms: float | None = None
    access_p95_ms: float | None = None
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class StructureRow:
    """One structure by itself. `recall` and `support` are means in [0, 1] over `recall_n` and `support_n` questions."""

    letter: str
    name: str
    evidence_tokens: float | None = None
    recall: float | None = None
    recall_n: int = 0
    support: float | None = None
    support_n: int = 0
    build_seconds: float | None = None
    build_tokens: float | None = None
    access_p50_ms: float | None = None
    access_p95_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """`first` minus `second`, paired by question."""

    first: str
    second: str
    difference: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class PageData:
    """What every page says. `metric` is a key of `METRIC_TITLES` or any name; `answerer` and `judge` are empty when no model
    answered or judged.

    `command` and `versions` say how to get the same numbers again; `level` is that of every interval.
    """

    title: str
    dataset: str
    metric: str
    answerer: str
    judge: str = ""
    notes: tuple[str, ...] = ()
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    created_at: str = ""
    level: float = 0.95

    @property
    def metric_title(self) -> str:
        return METRIC_TITLES.get(self.metric, self.metric)

    @property
    def level_title(self) -> str:
        return f"{100 * self.level:g} %"

    @property
    def measured(self) -> str:
        """Metric, answerer and judge in one phrase: the heading of every table and figure."""
        answers = f", answers by {self.answerer}" if self.answerer else ""
        judged = f", judged by {self.judge}" if self.judge else ""
        return f"{self.metric_title}{answers}{judged}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData(PageData):
    """One evaluation. `warnings` counts what ingest repaired or left out."""

    split: str = ""
    policies: tuple[PolicyRow, ...] = ()
    structures: tuple[StructureRow, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    warnings: Mapping[str, int] = field(default_factory=dict)

    @property
    def ranked(self) -> tuple[PolicyRow, ...]:
        """The policies by falling score, those without a score last."""
        return tuple(sorted(self.policies, key=_rank))

    @property
    def headline(self) -> PolicyRow | None:
        """The chosen policy, else the best one."""
        return next((p for p in self.ranked if p.chosen), next(iter(self.ranked), None))


def _rank(policy: PolicyRow) -> float:
    score = policy.summary.overall.score
    return 1.0 if score is None else -score
