from __future__ import annotations

import ast
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from models.selector.contract import Case, OutcomeTable, Role
from models.selector.directions import DIRECTIONS, Direction, direction_named
from models.selector.evaluate import examples, fit_and_select
from models.selector.proposer import ProposerView
from models.selector.sandbox import SandboxLimits
from models.selector.search import GENERIC
from models.selector.templates import FAMILIES, Family, TemplateProposer, read_values
from models.selector.templates.constants import Features, Groupings, OneOf, Real
from models.selector.templates.family import MAX_REPAIRS, REPAIR_CONSTANTS
from tests.models.selector.proposing import COST, LETTERS, entry, outcomes, view

ROLES: tuple[Role, ...] = ("exploit", "explore", "repair")
CELL = ("Game", "causal")
PROPOSER = TemplateProposer(FAMILIES)

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
every_direction = pytest.mark.parametrize("direction", DIRECTIONS, ids=lambda d: d.name)


@pytest.fixture(scope="module")
def train() -> OutcomeTable:
    return outcomes(seed=1)


@pytest.fixture(scope="module")
def unseen() -> OutcomeTable:
    return outcomes(seed=2, episodes=3)


def drawn(family: Family, seed: int = 0) -> str:
    return family.render(family.draw(random.Random(seed), LETTERS), COST)


def archive(direction: str, seed: int = 0) -> ProposerView:
    source = drawn(FAMILIES[direction], seed)
    return view(entry("03-explore", source, direction, 0.6), entry("seed", "...", "", 0.5), worst_cell=CELL)


def choices(source: str, train: OutcomeTable, unseen: OutcomeTable) -> list[str]:
    """What a policy reads for the unseen questions; fails the test if it fails on one."""
    _, selections = fit_and_select(source, train, unseen)
    assert {selection.reason for selection in selections} == {""}
    return [selection.subset for selection in selections]


def with_context(table: OutcomeTable, change: Callable[[dict[str, Any]], dict[str, Any]]) -> OutcomeTable:
    cases = tuple(Case(c.question_id, c.question, change(dict(c.context))) for c in table.cases)
    return replace(table, cases=cases)


def test_every_direction_has_its_family() -> None:
    assert list(FAMILIES) == [direction.name for direction in DIRECTIONS]


@pytest.mark.parametrize("role", ROLES)
@every_direction
def test_every_role_gives_a_valid_policy_in_every_direction(
    direction: Direction, role: Role, train: OutcomeTable, unseen: OutcomeTable
) -> None:
    proposal = PROPOSER.propose(role, direction, archive(direction.name), random.Random(5))
    assert (proposal.direction, proposal.role) == (direction.name, role)
    assert proposal.parent == ("" if role == "explore" else "03-explore")
    assert len(proposal.source) < SandboxLimits().source_chars
    assert choices(proposal.source, train, unseen)


@every_direction
def test_a_proposal_depends_on_the_view_and_the_random_state_alone(direction: Direction) -> None:
    for role in ROLES:
        one, two = (PROPOSER.propose(role, direction, archive(direction.name), random.Random(7)) for _ in range(2))
        assert one == two


@every_direction
def test_different_draws_give_different_policies(direction: Direction) -> None:
    sources = {drawn(FAMILIES[direction.name], seed) for seed in range(10)}
    assert len(sources) >= 9


@every_family
def test_constants_stay_in_bounds_however_often_they_are_changed(family: Family) -> None:
    rng = random.Random(3)
    values = family.draw(rng, LETTERS) | {c.name: c.draw(rng, LETTERS) for c in REPAIR_CONSTANTS} | {"REPAIRS": ["a|b"]}
    for _ in range(60):
        changed = family.change(values, rng, LETTERS)
        assert changed != values
        assert all(c.accepts(changed[c.name], LETTERS) for c in (*family.constants, *REPAIR_CONSTANTS))
        values = changed


@every_family
def test_the_constants_are_read_back_from_the_source(family: Family) -> None:
    values = family.draw(random.Random(4), LETTERS)
    read = read_values(family.render(values, COST))
    assert {name: read[name] for name in values} == values
    assert read["LAMBDA"] == COST


@every_family
def test_every_constant_has_a_comment_and_is_used(family: Family) -> None:
    source = drawn(family)
    tree = ast.parse(source)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for name in ("LAMBDA", *(constant.name for constant in family.constants)):
        line = next(line for line in source.splitlines() if line.startswith(f"{name} = "))
        assert len(line.partition("  # ")[2]) > 10
        assert name in used, f"{family.direction} never uses {name}"


@every_family
def test_a_policy_reads_nothing_but_what_the_contract_gives_it(family: Family) -> None:
    allowed = {
        "example": {"question", "context", "scores", "tokens"},
        "context": {"task_type", "domain", "capability", "n_steps", "structures", "previews"},
        "preview": {"n_tokens", "items", "top_scores", "steps", "localised", "head"},
    }
    tree = ast.parse(drawn(family))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {ast.unparse(node) for node in imports} <= {"import re", "import random"}
    keys = [(name, key) for name, key in read_keys(tree) if name in allowed]
    assert keys
    assert {(name, key) for name, key in keys if key not in allowed[name]} == set()


def read_keys(tree: ast.AST) -> list[tuple[str, str]]:
    """Variable and key of every `variable["key"]` and `variable.get("key")`."""
    keys = []
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                keys.append((name, key))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=str(key)), *_]):
                keys.append((name, key))
    return keys


@every_family
def test_a_policy_does_without_domain_and_capability(family: Family, train: OutcomeTable, unseen: OutcomeTable) -> None:
    def bare(context: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in context.items() if key not in ("domain", "capability", "task_type")}

    assert choices(drawn(family), with_context(train, bare), with_context(unseen, bare))


@every_family
def test_outcomes_that_are_errors_and_empty_previews_break_no_policy(
    family: Family, train: OutcomeTable, unseen: OutcomeTable
) -> None:
    def empty(context: dict[str, Any]) -> dict[str, Any]:
        nothing = {"n_tokens": 0, "items": 0, "top_scores": [], "steps": [], "localised": False, "head": ""}
        return context | {"previews": dict.fromkeys(context["structures"], nothing)}

    scores = train.scores.copy()
    scores[np.random.default_rng(0).random(scores.shape) < 0.1] = np.nan
    scores[0] = np.nan
    assert choices(drawn(family), replace(train, scores=scores), with_context(unseen, empty))


@every_family
def test_a_policy_without_any_outcome_reads_everything(family: Family, train: OutcomeTable, unseen: OutcomeTable) -> None:
    nothing = replace(train, scores=np.full_like(train.scores, np.nan))
    assert set(choices(drawn(family), nothing, unseen)) == {"S+T+G+V+R"}


def planted_cell(table: OutcomeTable) -> OutcomeTable:
    """R helps in the weak cell; elsewhere S helps and R distracts a little."""

    def score(case: Case, subset: str) -> float:
        if in_cell(case):
            return float("R" in subset)
        return (0.95 if "R" in subset else 1.0) * ("S" in subset)

    return replace(table, scores=np.array([[score(case, subset) for subset in table.subsets] for case in table.cases]))


def in_cell(case: Case) -> bool:
    return (case.context["domain"], case.context["capability"]) == CELL


@every_direction
def test_repair_changes_the_choices_in_the_weak_cell_and_nowhere_else(direction: Direction) -> None:
    table = planted_cell(outcomes(seed=1, episodes=18))
    before = archive(direction.name, seed=2)
    repair = PROPOSER.propose("repair", direction, before, random.Random(1))
    old = choices(before.entries[0].proposal.source, table, table)
    new = choices(repair.source, table, table)
    cell = [in_cell(case) for case in table.cases]
    assert all("R" in subset for subset, inside in zip(new, cell, strict=True) if inside)
    assert [s for s, inside in zip(new, cell, strict=True) if not inside] == [
        s for s, inside in zip(old, cell, strict=True) if not inside
    ]


def test_a_policy_that_ignores_the_cell_reads_it_differently_after_repair() -> None:
    table = planted_cell(outcomes(seed=1, episodes=18))
    family = FAMILIES["support_aware"]
    values = family.draw(random.Random(0), LETTERS) | {"FEATURES": ["capability", "domain"], "ENOUGH": 60}
    before = view(entry("01-explore", family.render(values, COST), family.direction, 0.6), worst_cell=CELL)
    repair = PROPOSER.propose("repair", direction_named(family.direction), before, random.Random(0))
    old = choices(before.entries[0].proposal.source, table, table)
    new = choices(repair.source, table, table)
    assert set(old) == {"S"}
    assert [subset != "S" for subset in new] == [in_cell(case) for case in table.cases]


def test_repairs_add_up_to_a_limit_and_the_oldest_goes_first() -> None:
    direction = direction_named("support_aware")
    state = archive(direction.name)
    for number in range(MAX_REPAIRS + 2):
        state = replace(state, worst_cell=("Game", f"c{number}"))
        proposal = PROPOSER.propose("repair", direction, state, random.Random(number))
        state = replace(state, entries=[entry(f"{number}", proposal.source, direction.name, 0.6 + number / 100)])
    assert read_values(proposal.source)["REPAIRS"] == [f"Game|c{n}" for n in range(2, MAX_REPAIRS + 2)]


def test_repair_without_a_known_weak_cell_changes_the_policy_instead() -> None:
    state = replace(archive("parsimony"), worst_cell=None)
    proposal = PROPOSER.propose("repair", direction_named("parsimony"), state, random.Random(0))
    assert "REPAIRS" not in read_values(proposal.source)
    assert proposal.source != state.entries[0].proposal.source


def test_exploitation_changes_one_or_two_constants_of_the_best_policy() -> None:
    state = archive("hierarchical_shrinkage")
    base = read_values(state.entries[0].proposal.source)
    for seed in range(20):
        proposal = PROPOSER.propose("exploit", direction_named("hierarchical_shrinkage"), state, random.Random(seed))
        changed = read_values(proposal.source)
        assert len([name for name in base if base[name] != changed[name]]) in (1, 2)
        assert proposal.note.startswith("changed ")


def test_exploitation_sometimes_takes_over_constants_of_a_better_policy() -> None:
    lead = entry("09-exploit", drawn(FAMILIES["forward_selection"], 8), "forward_selection", 0.7)
    state = view(lead, *archive("parsimony").entries)
    notes = [
        PROPOSER.propose("exploit", direction_named("parsimony"), state, random.Random(seed)).note for seed in range(40)
    ]
    taken = [note for note in notes if note.endswith("of 09-exploit")]
    assert 0 < len(taken) < 30
    assert "COST_WEIGHT" in taken[0]


@pytest.mark.parametrize("source", ["", "def fit(", "COST_WEIGHT = 99\nFEATURES = 'domain'\nSHRINK = print()"])
def test_a_parent_whose_constants_cannot_be_used_gets_fresh_ones(source: str) -> None:
    head = f'"""parsimony: ."""\n{source}'
    state = view(entry("01-explore", head, "parsimony", 0.6), worst_cell=CELL)
    for role in ROLES:
        proposal = PROPOSER.propose(role, direction_named("parsimony"), state, random.Random(0))
        values = read_values(proposal.source)
        assert all(c.accepts(values[c.name], LETTERS) for c in FAMILIES["parsimony"].constants)


def test_without_priors_exploration_draws_the_family_and_exploitation_keeps_the_best_one() -> None:
    state = archive("complementarity")
    explored = [PROPOSER.propose("explore", GENERIC, state, random.Random(seed)) for seed in range(30)]
    assert len({proposal.direction for proposal in explored}) > 8
    exploited = {PROPOSER.propose("exploit", GENERIC, state, random.Random(seed)).direction for seed in range(10)}
    assert exploited == {"complementarity"}


def test_a_direction_without_a_family_and_a_role_without_a_meaning_are_errors() -> None:
    unknown = Direction("luck", "E", 21, "...")
    with pytest.raises(KeyError, match="no family of templates for direction 'luck'"):
        PROPOSER.propose("explore", unknown, view(), random.Random(0))
    with pytest.raises(ValueError, match="not 'seed'"):
        PROPOSER.propose("seed", DIRECTIONS[0], view(), random.Random(0))


@pytest.mark.parametrize("letters", ["S", "TR", "STGVRH"])
def test_features_are_drawn_for_the_structures_at_hand(letters: Sequence[str]) -> None:
    features = Features("F", ("domain",), "...", low=2, high=4)
    names = {name for seed in range(60) for name in features.draw(random.Random(seed), letters)}
    assert {name.split(":")[1] for name in names if ":" in name} == set(letters)


def test_values_out_of_bounds_are_not_accepted() -> None:
    features = Features("F", ("domain",), "...", low=1, high=2)
    assert not any(features.accepts(bad, LETTERS) for bad in (None, [], ["words"], ["domain", "size:X"], ["domain"] * 2))
    assert not any(Real("C", 0, 1, "...").accepts(bad, LETTERS) for bad in (2, -0.1, True, "0.5", None))
    assert not any(OneOf("N", (1, 2), "...").accepts(bad, LETTERS) for bad in (3, 1.0, True, None))
    assert not Groupings("G", features, "...").accepts([["domain"]], LETTERS)


def test_the_examples_of_these_tests_are_those_of_a_search(train: OutcomeTable) -> None:
    assert set(examples(train)[0]) == {"question", "context", "scores", "tokens"}
