"""What the page of a router training is made of: numbers and words, no layout. All text is untrusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.report.data import PageData
from models.router.evaluate import RecallGap
from models.router.learner import EpochRecord
from storage.structures.event_index import Hop

Recalls = Mapping[str, Mapping[int, float]]
"""Mean evidence recall in [0, 1] by method (`H` or a plain ranking) and number of events."""


@dataclass(frozen=True, slots=True)
class TrainedFold:
    """One fold of one mode. `test` are its test episodes, `validation` its best number on validation (what `best_epochs`
    was chosen by in the last stage), `history` its epochs, stage after stage."""

    mode: str
    fold: int
    test: tuple[str, ...]
    validation: float
    best_epochs: Mapping[str, int]
    history: tuple[EpochRecord, ...]


@dataclass(frozen=True, slots=True)
class ModeScores:
    """Walks of one mode on the test episodes, means over the folds; None where no fold has the number.

    `success`: all targets found. `moved_success`: the same without the questions that the start alone answered.
    """

    mode: str
    success: float | None
    moved_success: float | None
    recall: float | None
    reward: float | None


@dataclass(frozen=True, slots=True)
class ExampleWalk:
    """One walk of structure H, best event first. It holds nothing of the question's gold answer or evidence."""

    episode_id: str
    question: str
    intent: str
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPage(PageData):
    """A finished training. `folds` are those of every mode; the last mode is the one that H walks with.

    `recall` and `gaps` (H minus each method, paired by question) are over all `questions` of the test episodes; `by_fold`
    and `by_capability` divide them.
    """

    preset: str
    seed: int
    router: str
    questions: int
    folds: tuple[TrainedFold, ...]
    walks: tuple[ModeScores, ...]
    recall: Recalls
    gaps: Mapping[str, tuple[RecallGap, ...]]
    by_fold: Mapping[int, Recalls]
    by_capability: Mapping[str, Recalls]
    walk: ExampleWalk | None = None

    @property
    def mode(self) -> str:
        """The mode that is kept."""
        return self.folds[-1].mode if self.folds else ""

    @property
    def depths(self) -> tuple[int, ...]:
        """The numbers of events at which recall was measured."""
        return tuple(sorted({depth for by_depth in self.recall.values() for depth in by_depth}))

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods as they are shown: H, then the plain rankings, best first at the greatest number of events."""
        depth = max(self.depths, default=0)
        return tuple(sorted(self.recall, key=lambda m: (m != "H", -self.recall[m].get(depth, 0.0), m)))
