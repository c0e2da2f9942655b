from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.aggregate import (
    BootstrapConfig,
    bootstrap_interval,
    difference,
    pareto_frontier,
    summarise,
    summarise_by,
)


def row(question: str, score: float | None = 1.0, **more: Any) -> dict[str, Any]:
    """`question` is `episode/index`."""
    base = {
        "question_id": f"d/{question}",
        "policy": "p",
        "score": score,
        "status": "ok",
        "evidence_tokens": 100,
        "n_structures": 2,
        "capability": "recall",
        "domain": "WEB",
    }
    return {**base, **more}


def test_errors_and_parse_errors_are_counted_but_never_wrong() -> None:
    rows = [row("a/0", 1.0), row("a/1", 0.0), row("b/0", 0.0, status="error"), row("b/1", None, status="parse_error")]
    overall = summarise(rows).overall
    assert (overall.score, overall.n, overall.errors, overall.parse_errors) == (0.5, 2, 1, 1)
    assert (overall.error_rate, overall.parse_error_rate) == (0.25, 0.25)


@pytest.mark.parametrize("score", [None, math.nan])
def test_an_ok_row_without_a_score_is_an_error(score: float | None) -> None:
    overall = summarise([row("a/0", 1.0), row("b/0", score)]).overall
    assert (overall.score, overall.n, overall.errors) == (1.0, 1, 1)


def test_a_group_without_data_has_no_score_instead_of_0() -> None:
    rows = [row("a/0"), row("b/0", None, status="error", domain="Game", evidence_tokens=None)]
    game = summarise(rows).by_domain["Game"]
    assert (game.score, game.interval, game.evidence_tokens) == (None, None, None)
    empty = summarise([])
    assert (empty.overall.score, empty.cell_mean, empty.overall.error_rate) == (None, None, None)


def test_tokens_and_structures_are_means_per_question() -> None:
    rows = [row("a/0", evidence_tokens=100), row("b/0", evidence_tokens=300, n_structures=3)]
    overall = summarise(rows).overall
    assert (overall.evidence_tokens, overall.n_structures) == (200.0, 2.5)


def test_adversarial_questions_are_reported_apart() -> None:
    rows = [row("a/0", 1.0), row("a/1", 0.0, capability="adversarial")]
    summary = summarise(rows)
    assert summary.overall.score == 1.0
    assert set(summary.by_capability) == {"recall"}
    assert summary.adversarial is not None
    assert summary.adversarial.score == 0.0
    assert summarise(rows, include_adversarial=True).overall.score == 0.5


def test_questions_with_wrong_golds_are_left_out_beside_the_full_score() -> None:
    rows = [row("a/0", 1.0), row("a/1", 0.0)]
    summary = summarise(rows, wrong_golds={"d/a/1"})
    assert summary.audited is not None
    assert (summary.overall.score, summary.audited.score) == (0.5, 1.0)
    assert summarise(rows).audited is None


def test_the_cell_mean_weighs_each_domain_and_capability_pair_alike() -> None:
    rows = [row(f"a/{i}", 1.0) for i in range(9)] + [row("b/0", 0.0, domain="Game")]
    rows.append(row("c/0", None, status="error", domain="SOFTWARE"))
    summary = summarise(rows)
    assert summary.overall.score == pytest.approx(0.9)
    assert summary.cell_mean == pytest.approx(0.5)


def test_a_table_and_a_list_give_the_same_summary_in_any_order() -> None:
    rows = [row(f"{e}/{i}", float((e + i) % 3 == 0)) for e in range(6) for i in range(4)]
    assert summarise(pa.Table.from_pylist(rows)) == summarise(rows) == summarise(rows[::-1])


def test_policies_are_summarised_one_by_one() -> None:
    rows = [row("a/0", 1.0, policy="S"), row("a/0", 0.0, policy="S+T")]
    summaries = summarise_by(rows)
    assert {name: s.overall.score for name, s in summaries.items()} == {"S": 1.0, "S+T": 0.0}


def test_a_question_that_comes_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="d/a/0 comes twice"):
        summarise([row("a/0"), row("a/0")])


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(ValueError, match="d/a/0: unknown status 'wrong'"):
        summarise([row("a/0", status="wrong")])


def test_the_interval_holds_the_mean_and_narrows_with_more_episodes() -> None:
    def width(episodes: int) -> float:
        scores = [float(e % 2) for e in range(episodes) for _ in range(3)]
        clusters = [e for e in range(episodes) for _ in range(3)]
        interval = bootstrap_interval(scores, clusters, np.random.default_rng(1))
        assert interval is not None
        assert interval[0] < 0.5 < interval[1]
        return interval[1] - interval[0]

    assert width(100) < width(20)


def test_the_interval_of_independent_scores_is_near_the_textbook_one() -> None:
    scores = np.random.default_rng(0).normal(size=400)
    interval = bootstrap_interval(scores, range(400), np.random.default_rng(1), resamples=4000)
    half = 1.96 * scores.std(ddof=1) / 20
    assert interval == pytest.approx((scores.mean() - half, scores.mean() + half), abs=0.015)


def test_questions_of_one_episode_do_not_narrow_the_interval() -> None:
    episodes = [float(e % 2) for e in range(30)]
    once = bootstrap_interval(episodes, range(30), np.random.default_rng(1))
    tenfold = [score for score in episodes for _ in range(10)]
    again = bootstrap_interval(tenfold, [e for e in range(30) for _ in range(10)], np.random.default_rng(1))
    assert once == pytest.approx(again)


def test_one_episode_gives_no_interval_and_missing_scores_are_left_out() -> None:
    assert bootstrap_interval([1.0, 0.0], ["a", "a"], np.random.default_rng(0)) is None
    assert bootstrap_interval([1.0, math.nan], ["a", "b"], np.random.default_rng(0)) is None
    assert bootstrap_interval([], [], np.random.default_rng(0)) is None


def test_scores_and_clusters_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 scores but 1 clusters"):
        bootstrap_interval([1.0, 0.0], ["a"], np.random.default_rng(0))


def test_equal_seeds_give_equal_intervals() -> None:
    rows = [row(f"{e}/0", math.sqrt(e)) for e in range(20)]
    first, again = (summarise(rows, bootstrap=BootstrapConfig(seed=5)) for _ in range(2))
    assert first == again
    assert first.overall.interval != summarise(rows, bootstrap=BootstrapConfig(seed=6)).overall.interval


def test_a_difference_pairs_the_questions_that_both_answered() -> None:
    first = [row("a/0", 1.0), row("b/0", 1.0), row("c/0", 1.0)]
    second = [row("b/0", 0.0), row("a/0", 1.0), row("c/0", None, status="error"), row("d/0", 0.0)]
    found = difference(first, second)
    assert (found.mean, found.n) == (0.5, 2)


def test_a_constant_gain_is_certain_although_the_scores_vary() -> None:
    first = [row(f"{e}/0", 0.1 + 0.8 * (e % 2)) for e in range(20)]
    second = [row(f"{e}/0", 0.8 * (e % 2)) for e in range(20)]
    assert difference(first, second).interval == pytest.approx((0.1, 0.1))


def test_policies_without_a_common_question_have_no_difference() -> None:
    assert difference([row("a/0")], [row("b/0")]).mean is None


def test_the_frontier_keeps_what_nothing_beats() -> None:
    points = [(5.0, 0.5), (3.0, 0.5), (9.0, 0.9), (9.0, 0.8), (1.0, 0.2), (None, 1.0), (2.0, None), (10.0, 0.9)]
    assert pareto_frontier(points) == [4, 1, 2]


def test_equal_points_are_on_the_frontier_together() -> None:
    assert pareto_frontier([(1.0, 0.5), (1.0, 0.5)]) == [0, 1]


@given(st.lists(st.tuples(st.integers(0, 9).map(float), st.integers(0, 9).map(float)), max_size=12))
def test_a_point_is_on_the_frontier_exactly_when_no_other_beats_it(points: list[tuple[float, float]]) -> None:
    def beaten(p: tuple[float, float]) -> bool:
        return any(q[0] <= p[0] and q[1] >= p[1] and q != p for q in points)

    frontier = pareto_frontier(points)
    assert set(frontier) == {i for i, p in enumerate(points) if not beaten(p)}
    assert [points[i] for i in frontier] == sorted(points[i] for i in frontier)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), min_size=1, max_size=30))
def test_an_interval_stays_within_the_scores(pairs: list[tuple[int, float]]) -> None:
    scores = [score for _, score in pairs]
    interval = bootstrap_interval(scores, [episode for episode, _ in pairs], np.random.default_rng(0), resamples=200)
    if interval is not None:
        assert min(scores) - 1e-9 <= interval[0] <= interval[1] <= max(scores) + 1e-9
