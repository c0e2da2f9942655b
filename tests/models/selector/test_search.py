from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from models.selector.contract import Entry, Evaluation, OutcomeTable, Proposal, Role
from models.selector.directions import DIRECTIONS, Direction
from models.selector.planted import planted, planted_rule
from models.selector.proposer import ProposerView
from models.selector.search import ALL_STRUCTURES, Candidate, SearchConfig, ranked, rejection, search

Write = Callable[[Role, Direction, ProposerView, random.Random], str]


def policy(letters: list[str], salt: str = "") -> str:
    select = f"def select(question, context, params):\n    return {letters}\n"
    return f"# {salt}\ndef fit(examples):\n    return len(examples)\n\n{select}"


def drawn(role: Role, direction: Direction, view: ProposerView, rng: random.Random) -> str:
    """A fixed subset at random, with a source of its own for every direction."""
    letters = rng.sample(list(view.letters), rng.randint(1, len(view.letters)))
    return policy(letters, f"{direction.name} {rng.random()}")


class Scripted:
    """A proposer that writes what a function says, and keeps what it was shown."""

    def __init__(self, write: Write) -> None:
        self.write = write
        self.views: list[ProposerView] = []

    def propose(self, role: Role, direction: Direction, view: ProposerView, rng: random.Random) -> Proposal:
        self.views.append(view)
        return Proposal(self.write(role, direction, view, rng), direction.name, role)


@pytest.fixture(scope="module")
def parts() -> tuple[OutcomeTable, OutcomeTable]:
    table = planted(np.random.default_rng(3), 6)
    ids = [case.question_id for case in table.cases]
    return table.part(ids[:36]), table.part(ids[36:])


def test_an_archive_of_no_iteration_is_the_policy_that_reads_everything(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    result = search(*parts, Scripted(drawn), SearchConfig(iterations=0))
    assert result.champion == result.archive[0]
    assert result.champion.proposal == ALL_STRUCTURES
    assert set(result.champion.selections) == {"S+T+G+V+R"}
    everything = parts[1].scores[:, -1].mean() - 1e-6 * parts[1].tokens[:, -1].mean()
    assert result.curve == (pytest.approx(everything),)


def test_thirty_iterations_make_ninety_candidates_and_visit_every_direction(
    parts: tuple[OutcomeTable, OutcomeTable],
) -> None:
    result = search(*parts, Scripted(drawn))
    assert len(result.candidates) == 90
    assert Counter(c.proposal.role for c in result.candidates) == {"exploit": 30, "explore": 30, "repair": 30}
    assert len(result.arms) == 20
    assert min(arm.n for arm in result.arms) >= 1
    assert sum(result.tries.values()) == 90
    assert sum(arm.n for arm in result.arms) == len(result.archive) - 1


@pytest.mark.parametrize("beta", [0.0, 0.08])
def test_every_direction_is_visited_within_twenty_iterations(parts: tuple[OutcomeTable, OutcomeTable], beta: float) -> None:
    result = search(*parts, Scripted(drawn), SearchConfig(iterations=20, beta=beta))
    assert min(arm.n for arm in result.arms) >= 1


def test_the_champion_is_the_best_of_the_archive_and_the_curve_never_falls(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    result = search(*parts, Scripted(drawn), SearchConfig(iterations=8))
    assert result.champion.validation.objective == max(entry.validation.objective for entry in result.archive)
    assert len(result.curve) == 9
    assert list(result.curve) == sorted(result.curve)
    assert result.curve[-1] == result.champion.validation.objective


def test_equal_seeds_give_equal_searches_and_other_seeds_others(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    first, again, other = (search(*parts, Scripted(drawn), SearchConfig(iterations=4, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first.candidates != other.candidates


def test_a_policy_is_fitted_on_train_and_chooses_for_validation(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    result = search(*parts, Scripted(drawn), SearchConfig(iterations=1))
    entry = result.archive[1]
    assert entry.params == len(parts[0].cases)
    assert len(entry.selections) == len(parts[1].cases)


def test_all_three_candidates_of_an_iteration_see_the_same_view(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    proposer = Scripted(drawn)
    search(*parts, proposer, SearchConfig(iterations=3))
    views = proposer.views
    assert views[3] is views[4] is views[5]
    assert len(views[0].entries) == 1
    assert len(views[3].entries) == 4
    objectives = [entry.validation.objective for entry in views[6].entries]
    assert objectives == sorted(objectives, reverse=True)
    assert views[6].errors
    assert views[6].worst_cell is not None


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def fit(examples: return", "syntax"),
        (
            "def fit(examples):\n    return 1 / 0\n\ndef select(question, context, params):\n    return ['S']\n",
            "ZeroDivision",
        ),
        (
            "def fit(examples):\n    return 0\n\ndef select(question, context, params):\n    return []\n",
            "failed on 36 of 36",
        ),
    ],
    ids=["syntax", "fit", "select"],
)
def test_an_invalid_candidate_is_counted_with_its_reason_and_touches_no_arm(
    parts: tuple[OutcomeTable, OutcomeTable], source: str, reason: str
) -> None:
    bad = Scripted(lambda role, direction, view, rng: source if role == "explore" else drawn(role, direction, view, rng))
    result = search(*parts, bad, SearchConfig(iterations=1))
    explore = result.candidates[1]
    assert explore.status == "invalid"
    assert reason.lower() in explore.reason.lower()
    assert result.tries[explore.proposal.direction] == 1
    assert next(arm.n for arm in result.arms if arm.direction == explore.proposal.direction) == 0
    assert [entry.id for entry in result.archive] == ["seed", "01-exploit", "01-repair"]


def test_a_search_of_failures_only_ends_with_the_policy_it_began_with(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    result = search(*parts, Scripted(lambda role, direction, view, rng: f"no {rng.random()}"), SearchConfig(iterations=25))
    assert result.champion.id == "seed"
    assert {candidate.status for candidate in result.candidates} == {"invalid"}
    assert min(result.tries.values()) >= 1
    assert max(result.tries.values()) <= 75 // 20 + 2


def test_a_source_that_came_before_is_drawn_again_once(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    draws: list[Role] = []

    def write(role: Role, direction: Direction, view: ProposerView, rng: random.Random) -> str:
        draws.append(role)
        return policy(["S"]) if draws.count(role) == 1 or role == "repair" else policy(["S"], role)

    result = search(*parts, Scripted(write), SearchConfig(iterations=1))
    assert draws == ["exploit", "explore", "explore", "repair", "repair"]
    assert [candidate.status for candidate in result.candidates] == ["valid", "valid", "duplicate"]
    assert result.candidates[2].reason == "the same source as 01-exploit"


def test_without_priors_there_is_one_direction_for_everything(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    result = search(*parts, Scripted(drawn), SearchConfig(iterations=3, use_priors=False))
    assert [(arm.direction, arm.n) for arm in result.arms] == [("any", 9)]


def test_directions_can_be_added_before_a_search(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    more = (*DIRECTIONS, Direction("by_weekday", "A", 21, "The signal is the weekday."))
    result = search(*parts, Scripted(drawn), SearchConfig(iterations=21, directions=more))
    assert [arm.n > 0 for arm in result.arms] == [True] * 21


def test_every_candidate_is_announced_in_order(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    told: list[Candidate] = []
    result = search(*parts, Scripted(drawn), SearchConfig(iterations=2), told.append)
    assert tuple(told) == result.candidates
    assert [c.id for c in told[:4]] == ["01-exploit", "01-explore", "01-repair", "02-exploit"]


def test_of_equal_objectives_fewer_tokens_rank_first_and_then_the_earlier() -> None:
    def entry(name: str, objective: float, tokens: float) -> Entry:
        return Entry(name, ALL_STRUCTURES, None, Evaluation(objective, tokens, objective, 1.0, 5), ())

    archive = [entry("a", 0.5, 10), entry("b", 0.6, 20), entry("c", 0.6, 10), entry("d", 0.6, 10)]
    assert [e.id for e in ranked(archive)] == ["c", "d", "b", "a"]


def test_a_policy_with_many_failures_or_errors_is_not_ranked() -> None:
    good = Evaluation(0.5, 100, 0.5, 2.0, n=80, invalid=5, errors=20)
    assert rejection(good) == ""
    assert rejection(replace(good, invalid=6)) == "failed on 6 of 100 questions, 5% are allowed"
    assert rejection(replace(good, n=79, errors=21)) == "21 of 100 outcomes are errors, 20% are allowed"
    assert rejection(Evaluation(float("nan"), float("nan"), float("nan"), 0.0, n=0)) != ""


def test_outcomes_that_are_errors_move_no_statistic(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    train, validation = parts
    scores = validation.scores.copy()
    scores[:4] = np.nan
    result = search(train, OutcomeTable(validation.cases, validation.subsets, scores, validation.tokens), Scripted(drawn))
    assert all(entry.validation.errors == 4 for entry in result.archive)
    assert all(np.isfinite(arm.mean) for arm in result.arms)


def test_validation_without_outcomes_is_refused(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    train, validation = parts
    nothing = OutcomeTable(validation.cases, validation.subsets, np.full_like(validation.scores, np.nan), validation.tokens)
    with pytest.raises(ValueError, match="no baseline on validation: 36 of 36 outcomes are errors"):
        search(train, nothing, Scripted(drawn))


def test_parts_that_are_empty_overlap_or_differ_in_subsets_are_refused(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    train, validation = parts
    with pytest.raises(ValueError, match="the train part of the split has no questions"):
        search(train.part([]), validation, Scripted(drawn))
    with pytest.raises(ValueError, match="is in train and in validation"):
        search(train, train, Scripted(drawn))
    fewer = OutcomeTable(validation.cases, validation.subsets[:-1], validation.scores[:, :-1], validation.tokens[:, :-1])
    with pytest.raises(ValueError, match="swept with subsets"):
        search(train, fewer, Scripted(drawn))


def test_nothing_of_a_question_its_id_or_outcome_reaches_the_proposer_but_what_a_policy_chose(
    parts: tuple[OutcomeTable, OutcomeTable],
) -> None:
    proposer = Scripted(drawn)
    search(*parts, proposer, SearchConfig(iterations=3))
    text = repr([(view.errors, view.worst_cell, view.arms, view.entries) for view in proposer.views])
    assert not [c.question_id for part in parts for c in part.cases if c.question_id in text or c.question in text]


def test_planted_rules_are_readable_by_a_policy_in_the_sandbox(parts: tuple[OutcomeTable, OutcomeTable]) -> None:
    source = """
def fit(examples):
    return None

def select(question, context, params):
    if context["previews"]["T"]["localised"]:
        return ["T", "R"] if context["domain"] == "SOFTWARE" else ["T"]
    if context["capability"] == "abstraction":
        return ["S"]
    return ["G", "V"] if question.startswith("Why") else ["V"]
"""
    result = search(*parts, Scripted(lambda *_: source), SearchConfig(iterations=1))
    assert result.champion.selections == tuple(planted_rule(case) for case in parts[1].cases)
