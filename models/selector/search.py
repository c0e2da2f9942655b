"""Prior-guided harness optimisation: find a policy by proposing, fitting and evaluating many (MESA, Algorithm 1).

The archive starts with the policy that reads everything. In each of T = 30 iterations the proposer gets the archive, the
UCB statistics and the champion's recurring errors, and makes three candidates: one exploits a direction that has worked, one
explores, one repairs a recurring error (`models/selector/ucb.py` says which direction each follows). A valid one is fitted
on train, evaluated on validation, and joins the archive and its arm. The champion has the highest validation objective, of
equals fewer tokens, then the earlier.

    result = search(train, validation, TemplateProposer(FAMILIES), SearchConfig(seed=0))
    result.champion.proposal.source

Test questions are no argument, so nothing here can see them. All three candidates of an iteration are proposed from one
view, before any of them is evaluated, as in Algorithm 1. A candidate is invalid when its source or its fitting fails, or
when it fails on more than 5 % of the validation questions or more than 20 % of its outcomes there are errors. A source that
came before is drawn again once, then counted as a duplicate. Neither joins the archive or changes mean and bonus of its arm;
both stay in `candidates` with the reason.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from models.selector.contract import ArmStats, Entry, Evaluation, OutcomeTable, Proposal, Role
from models.selector.directions import DIRECTIONS, Direction
from models.selector.errors import recurring_errors, worst_cell
from models.selector.evaluate import MAX_INVALID, evaluate, examples
from models.selector.lookups import letters_of
from models.selector.proposer import Proposer, ProposerView
from models.selector.sandbox import (
    DEFAULT_LIMITS,
    PolicyError,
    SandboxLimits,
    encode_cases,
    encode_examples,
    fit,
    select,
)
from models.selector.ucb import Arms

Status = Literal["valid", "invalid", "duplicate"]

MAX_ERRORS = 0.2
"""A candidate is not ranked when more than this share of its outcomes are errors of the answerer or judge."""
ALL_STRUCTURES = Proposal(
    source='''"""Reads every structure for every question."""


def fit(examples):
    return None


def select(question, context, params):
    return context["structures"]
''',
    direction="",
    role="seed",
    note="the archive's first policy",
)

GENERIC = Direction("any", "A", 0, "Any policy that maps a question and its context to structures.")
"""The one direction of the ablation "w/o priors". Number 0: it names no mechanism, which is left to the proposer."""


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """Budget and weights of a search; the defaults are the paper's (Appendix B.2). `cost` is lambda, per evidence token.

    Without `tell_errors` a proposer sees objectives only: no summary of which validation questions fail, which is made from
    verdicts (though never from gold text).
    """

    iterations: int = 30
    cost: float = 1e-6
    beta: float = 0.08
    seed: int = 0
    limits: SandboxLimits = DEFAULT_LIMITS
    directions: tuple[Direction, ...] = DIRECTIONS
    use_priors: bool = True
    tell_errors: bool = True

    @property
    def arms(self) -> tuple[Direction, ...]:
        return self.directions if self.use_priors else (GENERIC,)


@dataclass(frozen=True)
class Candidate:
    """One proposal and what became of it; `evaluation` is None where it never ran on validation.

    `arm` is the direction it was asked for, which the proposal names too, except without priors.
    """

    id: str
    iteration: int
    arm: str
    proposal: Proposal
    status: Status
    reason: str = ""
    evaluation: Evaluation | None = None


@dataclass(frozen=True)
class SearchResult:
    """A finished search.

    `archive` starts with the all-structures policy. `candidates` are all proposals in order. `curve` (iterations + 1) is the
    best validation objective before the first and after every iteration. `tries` counts proposals by direction.
    """

    champion: Entry
    archive: tuple[Entry, ...]
    candidates: tuple[Candidate, ...]
    curve: tuple[float, ...]
    arms: tuple[ArmStats, ...]
    tries: Mapping[str, int]


def search(
    train: OutcomeTable,
    validation: OutcomeTable,
    proposer: Proposer,
    config: SearchConfig | None = None,
    on_candidate: Callable[[Candidate], None] | None = None,
) -> SearchResult:
    """Run Algorithm 1. Equal inputs and seeds give equal results if the proposer draws only from the `rng` it is given.

    ValueError when a part is empty, the parts differ in subsets, or validation has no outcome for reading everything.
    """
    run = _Search(train, validation, proposer, config or SearchConfig())
    curve = [run.frontier]
    for iteration in range(1, run.config.iterations + 1):
        for candidate in run.iterate(iteration):
            if on_candidate is not None:
                on_candidate(candidate)
        curve.append(run.frontier)
    stats = run.arms.stats(run.frontier)
    return SearchResult(run.champion, tuple(run.archive), tuple(run.candidates), tuple(curve), stats, run.arms.tries())


def rejection(evaluation: Evaluation) -> str:
    """Why a policy with this evaluation is not ranked, or ""."""
    n = evaluation.n + evaluation.errors
    if evaluation.invalid > MAX_INVALID * n:
        return f"failed on {evaluation.invalid} of {n} questions, {MAX_INVALID:.0%} are allowed"
    if not evaluation.n or evaluation.errors > MAX_ERRORS * n:
        return f"{evaluation.errors} of {n} outcomes are errors, {MAX_ERRORS:.0%} are allowed"
    return ""


def ranked(archive: Sequence[Entry]) -> tuple[Entry, ...]:
    """Best validation objective first; of equals the one with fewer tokens, then the earlier."""
    return tuple(sorted(archive, key=lambda entry: (-entry.validation.objective, entry.validation.tokens)))


class _Search:
    """A search in progress."""

    def __init__(self, train: OutcomeTable, validation: OutcomeTable, proposer: Proposer, config: SearchConfig) -> None:
        _check(train, validation)
        self.config = config
        self.proposer = proposer
        self.validation = validation
        self.letters = letters_of(validation)
        self.examples = encode_examples(examples(train))
        self.cases = encode_cases(validation.cases)
        self.directions = {direction.name: direction for direction in config.arms}
        self.arms = Arms(list(self.directions), config.beta)
        self.candidates: list[Candidate] = []
        self.sources: dict[str, str] = {}
        self.archive = [self._seed()]
        self.sources[ALL_STRUCTURES.source] = "seed"

    @property
    def champion(self) -> Entry:
        return ranked(self.archive)[0]

    @property
    def frontier(self) -> float:
        return self.champion.validation.objective

    def iterate(self, iteration: int) -> list[Candidate]:
        """Propose three candidates from one view, then evaluate each."""
        view = self._view()
        proposals = [(arm, self._propose(iteration, role, arm, view)) for role, arm in self._directions()]
        found = [self._judge(iteration, arm, proposal) for arm, proposal in proposals]
        self.candidates += found
        return found

    def _directions(self) -> list[tuple[Role, str]]:
        exploit = self.arms.exploit(self.frontier)
        explore = self.arms.explore(self.frontier, [exploit])
        repair = self.arms.repair(self.frontier, [exploit, explore])
        return [("exploit", exploit), ("explore", explore), ("repair", repair)]

    def _view(self) -> ProposerView:
        entries = ranked(self.archive)
        chosen, cost = entries[0].selections, self.config.cost
        return ProposerView(
            entries=entries,
            arms=self.arms.stats(self.frontier),
            errors=recurring_errors(chosen, self.validation, cost) if self.config.tell_errors else (),
            letters=self.letters,
            cost=cost,
            worst_cell=worst_cell(chosen, self.validation, cost) if self.config.tell_errors else None,
        )

    def _propose(self, iteration: int, role: Role, arm: str, view: ProposerView) -> Proposal:
        """A proposal whose source is new, if two draws give one."""
        for draw in (0, 1):
            rng = random.Random(f"{self.config.seed}/{iteration}/{role}/{draw}")
            proposal = self.proposer.propose(role, self.directions[arm], view, rng)
            if proposal.source not in self.sources:
                break
        self.arms.tried(arm)
        self.sources.setdefault(proposal.source, _id(iteration, role))
        return replace(proposal, role=role)

    def _judge(self, iteration: int, arm: str, proposal: Proposal) -> Candidate:
        """Evaluate a candidate, add it to the archive and its arm if it is valid, and say what became of it."""
        name = _id(iteration, proposal.role)
        told = partial(Candidate, name, iteration, arm, proposal)
        if (earlier := self.sources[proposal.source]) != name:
            return told("duplicate", f"the same source as {earlier}")
        try:
            entry, reason = self._evaluate(name, proposal)
        except PolicyError as error:
            return told("invalid", str(error))
        if reason:
            return told("invalid", reason, entry.validation)
        self.archive.append(entry)
        self.arms.update(arm, entry.validation.objective)
        return told("valid", evaluation=entry.validation)

    def _evaluate(self, name: str, proposal: Proposal) -> tuple[Entry, str]:
        """Fit on train, evaluate on validation; why it is not ranked, or "". PolicyError when it cannot be used."""
        params = fit(proposal.source, self.examples, self.config.limits)
        selections = select(proposal.source, params, self.cases, self.letters, self.config.limits)
        evaluation = evaluate(selections, self.validation, self.config.cost)
        entry = Entry(name, proposal, params, evaluation, tuple(selection.subset for selection in selections))
        reason = rejection(evaluation)
        failures = [selection.reason for selection in selections if not selection.valid]
        return entry, f"{reason}; first: {failures[0]}" if reason and failures else reason

    def _seed(self) -> Entry:
        entry, reason = self._evaluate("seed", ALL_STRUCTURES)
        if reason:
            raise ValueError(f"reading everything gives no baseline on validation: {reason}")
        return entry


def _id(iteration: int, role: Role) -> str:
    return f"{iteration:02d}-{role}"


def _check(train: OutcomeTable, validation: OutcomeTable) -> None:
    for name, table in (("train", train), ("validation", validation)):
        if not table.cases:
            raise ValueError(f"the {name} part of the split has no questions: a search needs at least one")
    if train.subsets != validation.subsets:
        raise ValueError(f"train was swept with subsets {train.subsets}, validation with {validation.subsets}")
    if both := {case.question_id for case in train.cases} & {case.question_id for case in validation.cases}:
        raise ValueError(f"question {min(both)} is in train and in validation: policies would be judged on what they fit")
