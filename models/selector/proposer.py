"""What proposes candidate policies: the `Proposer` protocol and what a proposer may see of a search (MESA, Algorithm 1)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from models.selector.contract import ArmStats, Entry, Proposal, Role
from models.selector.directions import Direction


@dataclass(frozen=True)
class ProposerView:
    """The state of a search, without question texts, gold answers or anything of the test split.

    `entries` are the archive, best validation objective first. `errors` are sentences about recurring validation failures.
    `letters` are the structures at hand, `cost` is lambda, the objective's price of one evidence token. `worst_cell` is the
    domain and capability where the best policy loses most, or None.
    """

    entries: Sequence[Entry]
    arms: Sequence[ArmStats]
    errors: Sequence[str]
    letters: Sequence[str]
    cost: float
    worst_cell: tuple[str, str] | None = None

    def best_of(self, direction: str) -> Entry | None:
        """The best archived policy of a direction."""
        return next((entry for entry in self.entries if entry.proposal.direction == direction), None)


class Proposer(Protocol):
    """Makes one candidate per call.

    Roles: `exploit` changes an effective policy a little, `explore` tries the direction afresh, `repair` addresses recurring
    failures. ValueError for any other role. Deterministic for an equal view and an `rng` in the same state, as far as its
    language model is. A proposal may turn out invalid; the search finds out in the sandbox.
    """

    @property
    def name(self) -> str:
        """Identifies templates, or model and prompt, in tables and cache keys."""
        ...

    def propose(self, role: Role, direction: Direction, view: ProposerView, rng: random.Random) -> Proposal: ...
