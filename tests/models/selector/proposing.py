"""An archive on planted outcomes, as the tests of both proposers need it."""

from __future__ import annotations

import numpy as np

from models.selector.contract import ArmStats, Entry, Evaluation, OutcomeTable, Proposal, Role
from models.selector.planted import planted
from models.selector.proposer import ProposerView

LETTERS = "STGVR"
COST = 1e-6


def outcomes(seed: int = 0, episodes: int = 12) -> OutcomeTable:
    return planted(np.random.default_rng(seed), episodes)


def entry(name: str, source: str, direction: str, objective: float, role: Role = "explore", params: object = None) -> Entry:
    proposal = Proposal(source, direction, role)
    return Entry(name, proposal, params, Evaluation(objective + 0.01, 10_000, objective, 2.5, 30), ("S+T", "S+T", "R"))


def view(
    *entries: Entry,
    errors: tuple[str, ...] = (),
    arms: tuple[ArmStats, ...] = (),
    worst_cell: tuple[str, str] | None = None,
) -> ProposerView:
    return ProposerView(entries, arms, errors, tuple(LETTERS), COST, worst_cell)
