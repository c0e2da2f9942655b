from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from models.selector.ablation import AblationConfig, AblationResult, Chooser, ablate, baselines
from models.selector.contract import Case, OutcomeTable
from models.selector.planted import planted, planted_rule, rule_objective
from models.selector.sandbox import Selection
from models.splits import Split, episode_of

NAMES = ["all", "S", "T", "G", "V", "R", "random", "route_to_one"]
LOOKUPS = ["lookup_global", "lookup_domain", "lookup_capability", "lookup_domain_capability"]


def thirds(numbers: Sequence[int]) -> Split:
    ids = [str(number) for number in numbers]
    return Split(tuple(ids[:6]), tuple(ids[6:12]), tuple(ids[12:]))


TABLE = planted(np.random.default_rng(5), 30)
SPLITS = (thirds(range(30)), thirds(range(29, -1, -1)), thirds([*range(15, 30), *range(15)]))


def rule(train: OutcomeTable, validation: OutcomeTable, seed: int) -> Chooser:
    return lambda cases: [Selection(planted_rule(case)) for case in cases]


@pytest.fixture(scope="module")
def result() -> AblationResult:
    return ablate(TABLE, SPLITS, {"mesa": rule, "all_again": baselines(TABLE, 1e-6)["all"]})


def test_the_table_has_a_row_for_every_method_baseline_and_the_oracle(result: AblationResult) -> None:
    assert [row.name for row in result.rows] == ["mesa", "all_again", *NAMES, *LOOKUPS, "oracle"]
    assert {(row.splits, row.questions) for row in result.rows} == {(3, 3 * 18 * 12)}


def test_a_row_is_the_mean_over_splits_with_the_sample_deviation(result: AblationResult) -> None:
    scores = []
    for split in SPLITS:
        rows = [i for i, case in enumerate(TABLE.cases) if episode_of(case.question_id) in split.test]
        scores.append(TABLE.scores[rows, TABLE.subsets.index("T")].mean())
    row = next(row for row in result.rows if row.name == "T")
    assert row.score == pytest.approx(np.mean(scores))
    assert row.score_std == pytest.approx(np.std(scores, ddof=1))
    assert row.structures == 1.0
    assert row.objective == pytest.approx(row.score - 1e-6 * row.evidence_tokens)


def test_the_planted_rule_is_above_every_baseline_and_below_the_oracle(result: AblationResult) -> None:
    objective = {row.name: row.objective for row in result.rows}
    assert objective["oracle"] > objective["mesa"]
    assert objective["mesa"] > max(value for name, value in objective.items() if name not in ("oracle", "mesa"))
    assert objective["mesa"] == pytest.approx(np.mean([rule_objective(part_for_test(split), 1e-6) for split in SPLITS]))


def part_for_test(split: Split) -> OutcomeTable:
    ids = [case.question_id for case in TABLE.cases if episode_of(case.question_id) in split.test]
    return TABLE.part(ids)


def test_a_difference_pairs_the_questions_of_each_split(result: AblationResult) -> None:
    assert [d.other for d in result.differences] == [row.name for row in result.rows if row.name != "mesa"]
    rows = {row.name: row for row in result.rows}
    for found in result.differences:
        assert found.score.n == 3 * 18 * 12
        assert found.score.mean == pytest.approx(rows["mesa"].score - rows[found.other].score)
        assert found.tokens.mean == pytest.approx(rows["mesa"].evidence_tokens - rows[found.other].evidence_tokens)
        assert found.objective.mean == pytest.approx(rows["mesa"].objective - rows[found.other].objective)


def test_a_planted_win_is_told_from_noise_and_equal_methods_do_not_differ() -> None:
    same = ablate(TABLE, SPLITS, {"mesa": rule, "twin": rule})
    differences = {found.other: found for found in same.differences}
    assert differences["twin"].score.interval == (0.0, 0.0)
    interval = differences["all"].objective.interval
    assert interval is not None
    assert 0 < interval[0] < interval[1]


def test_repeating_a_split_does_not_narrow_an_interval() -> None:
    once, thrice = (ablate(TABLE, SPLITS[:1] * n, {"mesa": rule}) for n in (1, 3))
    first, again = (found.differences[0].score.interval for found in (once, thrice))
    assert first == pytest.approx(again)


def test_one_split_has_no_deviation() -> None:
    rows = ablate(TABLE, SPLITS[:1], {}).rows
    assert {(row.score_std, row.objective_std) for row in rows} == {(None, None)}


def test_methods_learn_from_train_and_validation_and_see_no_test_outcome() -> None:
    seen: list[tuple[list[set[str]], int]] = []
    asked: list[Sequence[Case]] = []

    def learn(train: OutcomeTable, validation: OutcomeTable, seed: int) -> Chooser:
        seen.append(([{episode_of(case.question_id) for case in part.cases} for part in (train, validation)], seed))

        def choose(cases: Sequence[Case]) -> list[Selection]:
            asked.append(cases)
            return [Selection("S")] * len(cases)

        return choose

    ablate(TABLE, SPLITS, {"mesa": learn})
    assert seen == [([set(split.train), set(split.validation)], number) for number, split in enumerate(SPLITS)]
    assert [{episode_of(case.question_id) for case in cases} for cases in asked] == [set(split.test) for split in SPLITS]
    assert {type(case) for cases in asked for case in cases} == {Case}


def test_test_outcomes_change_no_choice() -> None:
    scores = TABLE.scores.copy()
    split = SPLITS[0]
    for row, case in enumerate(TABLE.cases):
        if episode_of(case.question_id) in split.test:
            scores[row] = 1 - scores[row]
    turned = OutcomeTable(TABLE.cases, TABLE.subsets, scores, TABLE.tokens)
    for before, after in zip(*(ablate(table, [split], {}).rows for table in (TABLE, turned)), strict=True):
        if before.name != "oracle":
            assert before.score == pytest.approx(1 - after.score)
            assert before.evidence_tokens == pytest.approx(after.evidence_tokens)


def test_errors_are_in_no_mean_and_in_no_pair() -> None:
    scores = TABLE.scores.copy()
    scores[-1, TABLE.subsets.index("S")] = math.nan
    result = ablate(OutcomeTable(TABLE.cases, TABLE.subsets, scores, TABLE.tokens), SPLITS[:1], {"mesa": rule})
    row = next(row for row in result.rows if row.name == "S")
    assert (row.errors, row.questions) == (1, 18 * 12 - 1)
    assert next(found.score.n for found in result.differences if found.other == "S") == 18 * 12 - 1


def test_failed_selections_are_counted() -> None:
    def failing(train: OutcomeTable, validation: OutcomeTable, seed: int) -> Chooser:
        return lambda cases: [Selection("S+T+G+V+R", i > 0, "") for i, _ in enumerate(cases)]

    rows = ablate(TABLE, SPLITS, {"mesa": failing}).rows
    assert [row.invalid for row in rows[:2]] == [3, 0]


def test_without_the_reference_there_are_rows_but_no_differences() -> None:
    assert ablate(TABLE, SPLITS[:1], {}).differences == ()
    chosen = ablate(TABLE, SPLITS[:1], {}, AblationConfig(reference="all"))
    assert {found.name for found in chosen.differences} == {"all"}


def test_equal_inputs_give_equal_tables() -> None:
    assert ablate(TABLE, SPLITS[:2], {"mesa": rule}) == ablate(TABLE, SPLITS[:2], {"mesa": rule})


def test_an_ablation_without_splits_or_with_a_taken_name_or_an_empty_part_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one split"):
        ablate(TABLE, [], {})
    with pytest.raises(ValueError, match="other names than the baselines"):
        ablate(TABLE, SPLITS, {"random": rule})
    with pytest.raises(ValueError, match="the test part of a split has no question"):
        ablate(TABLE, [Split(SPLITS[0].train, SPLITS[0].validation, ("unknown",))], {})
