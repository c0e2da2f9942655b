"""What a sweep and a search are told. The defaults are those of MESA, Appendix B.2; a settings file changes them."""

from __future__ import annotations

from dataclasses import dataclass

from models.selector.search import SearchConfig
from storage.structures import DEFAULT_LETTERS

TEMPLATES = "templates"


@dataclass(frozen=True)
class SweepConfig:
    """Which structures and questions, and how they are scored. `cost` is lambda of the objective.

    `episodes` empty means all; `max_tokens` and `max_cost` are hard stops.
    """

    structures: tuple[str, ...] = DEFAULT_LETTERS
    metric: str = "f1"
    limit: int | None = None
    cost: float = 1e-6
    episodes: tuple[str, ...] = ()
    max_tokens: int | None = None
    max_cost: float | None = None


@dataclass(frozen=True)
class SelectorConfig:
    """What is searched and how. The outcomes are those of a sweep with the same structures and metric.

    `proposer` is `templates` or a language model (a spec as for answerers); `cost` is lambda and `beta` the UCB coefficient
    (MESA, Appendix B.2); `metadata` False hides capability, domain and task type from policies; `use_priors` False is the
    ablation without prior directions; `tell_errors` False keeps summaries of failures from the proposer.
    """

    structures: tuple[str, ...] = DEFAULT_LETTERS
    metric: str = "f1"
    split: int = 0
    proposer: str = TEMPLATES
    iterations: int = 30
    cost: float = 1e-6
    beta: float = 0.08
    seed: int = 0
    metadata: bool = True
    use_priors: bool = True
    tell_errors: bool = True

    @property
    def sweep(self) -> SweepConfig:
        return SweepConfig(structures=self.structures, metric=self.metric, cost=self.cost)

    @property
    def search(self) -> SearchConfig:
        return SearchConfig(
            self.iterations,
            self.cost,
            self.beta,
            self.seed,
            use_priors=self.use_priors,
            tell_errors=self.tell_errors,
        )
