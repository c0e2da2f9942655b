from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from models.selector.contract import OutcomeTable
from models.selector.lookups import KINDS, fit_lookup, objectives, oracle
from models.selector.planted import CAPABILITIES, DOMAINS, PlantedConfig, planted, planted_rule, rule_objective
from models.selector.sandbox import encode_cases
from models.selector.search import SearchConfig, search
from models.selector.subsets import all_subsets
from models.selector.templates import FAMILIES, TemplateProposer
from models.splits import EpisodeInfo, episode_of, make_split

COST = 1e-6


def total(table: OutcomeTable, chosen: list[str]) -> float:
    columns = [table.subsets.index(subset) for subset in chosen]
    return float(objectives(table, COST)[np.arange(len(columns)), columns].mean())


def test_a_planted_table_has_every_subset_domain_and_capability() -> None:
    table = planted(np.random.default_rng(0), 12)
    assert len(table.cases) == 144
    assert table.subsets == tuple(all_subsets("STGVR"))
    cells = {(case.context["domain"], case.context["capability"]) for case in table.cases}
    assert cells == set(product([domain for domain, _ in DOMAINS], CAPABILITIES))
    assert set(np.unique(table.scores)) == {0.0, 1.0}


def test_its_contexts_hold_what_a_policy_may_see_and_nothing_else() -> None:
    assert len(encode_cases(planted(np.random.default_rng(0), 2).cases)) == 24


def test_the_rule_depends_on_words_domain_capability_and_previews() -> None:
    cases = planted(np.random.default_rng(0), 24).cases
    found: dict[str, set[str]] = {}
    for case in cases:
        found.setdefault(planted_rule(case), set()).add(case.context["domain"])
    assert found.keys() == {"T", "T+R", "S", "G+V", "V"}
    assert found["T+R"] == {"SOFTWARE"}
    assert "SOFTWARE" not in found["T"]
    assert {case.context["capability"] for case in cases if planted_rule(case) == "S"} == {"abstraction"}
    assert all(case.question.startswith("Why") for case in cases if planted_rule(case) == "G+V")
    assert all(case.context["previews"]["T"]["localised"] == planted_rule(case).startswith("T") for case in cases)


def test_a_step_that_is_named_is_not_always_localised() -> None:
    cases = planted(np.random.default_rng(0), 50).cases
    named = [case.context["previews"]["T"]["localised"] for case in cases if " at step " in case.question]
    assert 0.75 < np.mean(named) < 0.95


def test_outcomes_follow_the_rule_with_noise() -> None:
    config = PlantedConfig()
    table = planted(np.random.default_rng(0), 200, config)
    hits: dict[str, list[float]] = {"rule": [], "one more": [], "everything": [], "other": []}
    for row, case in enumerate(table.cases):
        needed = set(planted_rule(case).split("+"))
        for subset, score in zip(table.subsets, table.scores[row], strict=True):
            read = set(subset.split("+"))
            if not needed <= read:
                hits["other"].append(score)
            elif len(read - needed) in (0, 1) or len(read) == 5:
                hits[("rule", "one more", "everything")[min(len(read - needed), 2)]].append(score)
    assert np.mean(hits["rule"]) == pytest.approx(config.hit, abs=0.02)
    assert np.mean(hits["one more"]) == pytest.approx(config.hit - config.distraction, abs=0.02)
    assert np.mean(hits["other"]) == pytest.approx(config.miss, abs=0.02)
    assert config.miss < np.mean(hits["everything"]) < np.mean(hits["one more"])


def test_evidence_tokens_add_up_over_structures_and_are_in_the_previews() -> None:
    table = planted(np.random.default_rng(1), 40)
    tokens = dict(zip(table.subsets, table.tokens.T, strict=True))
    assert tokens["S+R"] == pytest.approx(tokens["S"] + tokens["R"])
    assert tokens["T"].mean() == pytest.approx(2_800, rel=0.1)
    assert tokens["V"][0] == table.cases[0].context["previews"]["V"]["n_tokens"]


def test_the_rule_is_far_above_every_lookup_and_below_the_oracle() -> None:
    table = planted(np.random.default_rng(2), 400)
    best = rule_objective(table, COST)
    assert best == pytest.approx(total(table, [planted_rule(case) for case in table.cases]))
    assert total(table, list(oracle(table, COST))) > best
    for kind in KINDS:
        lookup = fit_lookup(table, COST, kind)
        assert total(table, [lookup.select(case) for case in table.cases]) < 0.9 * best
    assert total(table, ["S+T+G+V+R"] * len(table.cases)) < 0.9 * best


def test_equal_seeds_plant_equal_tables() -> None:
    first, again, other = (planted(np.random.default_rng(seed), 4) for seed in (1, 1, 2))
    assert first.cases == again.cases
    assert (first.scores == again.scores).all()
    assert first.cases != other.cases


@pytest.mark.slow
def test_the_search_finds_a_policy_within_a_tenth_of_the_planted_rule() -> None:
    table = planted(np.random.default_rng(0), 163)
    ids = [case.question_id for case in table.cases]
    capabilities: dict[str, Counter[str]] = {}
    traits: dict[str, tuple[str, str]] = {}
    for case in table.cases:
        episode = episode_of(case.question_id)
        traits[episode] = (case.context["domain"], case.context["task_type"])
        capabilities.setdefault(episode, Counter())[case.context["capability"]] += 1
    infos = [EpisodeInfo(name, *traits[name], tuple(capabilities[name])) for name in traits]
    split = make_split(infos, 0)
    train, validation = (
        table.part([name for name in ids if episode_of(name) in part]) for part in (split.train, split.validation)
    )
    result = search(train, validation, TemplateProposer(FAMILIES), SearchConfig(cost=COST))
    assert result.champion.validation.objective >= 0.9 * rule_objective(validation, COST)
    assert min(result.tries.values()) >= 1
    assert len(result.candidates) == 90
