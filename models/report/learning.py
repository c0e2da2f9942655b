"""What the pages of a sweep, a search and an ablation are made of: numbers and words, no layout. All text is untrusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from models.aggregate import Difference
from models.prefix_cache import PrefixReuse
from models.report.data import PageData
from models.selector.ablation import AblationRow, PairedDifference
from models.selector.analysis import StructureUse, SweepAnalysis
from models.selector.contract import ArmStats, Evaluation

Verdict = Literal["better", "worse", "noise", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPage(PageData):
    """`cost` is lambda, per evidence token; `structures` are the letters that were learned over, with their names."""

    cost: float
    structures: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPage(LearningPage):
    """A finished sweep. `held_out` are baselines on the test parts of `splits` splits, chosen on the other parts."""

    questions: int
    outcomes: int
    errors: int
    parse_errors: int
    analysis: SweepAnalysis
    reuse: Mapping[str, PrefixReuse]
    held_out: tuple[AblationRow, ...] = ()
    splits: int = 0


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate of a search; `objective` is None where it never ran on validation."""

    iteration: int
    role: str
    status: str
    reason: str = ""
    objective: float | None = None


@dataclass(frozen=True, slots=True)
class PartResult:
    """A policy on one part of a split."""

    policy: str
    part: str
    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class FoundPolicy:
    """The champion: where it came from, and `params`, what it fitted, as JSON."""

    id: str
    direction: str
    role: str
    note: str
    source: str
    params: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage(LearningPage):
    """A finished search on one split; `search` is its artifact.

    `curve` is the best validation objective before the first and after every iteration, `baseline` that of all structures.
    `use` is what the champion selects on validation; `tries` are proposals by direction.
    """

    split: int
    proposer: str
    search: str
    champion: FoundPolicy
    results: tuple[PartResult, ...]
    curve: tuple[float, ...]
    baseline: float
    trials: tuple[Trial, ...]
    arms: tuple[ArmStats, ...]
    tries: Mapping[str, int]
    use: tuple[StructureUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationPage(LearningPage):
    """Every method on the test parts of `splits` splits; `differences` are against `reference`."""

    splits: int
    proposer: str
    rows: tuple[AblationRow, ...]
    differences: tuple[PairedDifference, ...]
    reference: str = "mesa"

    @property
    def ranked(self) -> tuple[AblationRow, ...]:
        """The rows by falling objective."""
        return tuple(sorted(self.rows, key=lambda row: -row.objective))


def verdict(difference: Difference) -> Verdict:
    """What a difference says of the first of its two: noise where the interval holds 0, unknown without an interval."""
    if difference.interval is None:
        return "unknown"
    low, high = difference.interval
    return "better" if low > 0 else "worse" if high < 0 else "noise"
