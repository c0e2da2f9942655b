from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.splits import (
    PARTS,
    EpisodeInfo,
    Split,
    Uncovered,
    episode_of,
    make_split,
    make_splits,
    questions_of,
    split_sizes,
)

AMA_BENCH = {
    ("TEXT2SQL", "spider2"): 51,
    ("SOFTWARE", "swebench"): 36,
    ("WEB", "webarena"): 31,
    ("EMBODIED_AI", "alfworld"): 30,
    ("OPENWORLD_QA", "gaia_level1"): 10,
    ("OPENWORLD_QA", "gaia_level2"): 15,
    ("OPENWORLD_QA", "gaia_level3"): 5,
    **{("Game", game): 6 for game in ("2048", "babaisai", "candy_crush", "crafter", "minihack")},
}
"""Episodes of the full data set (208) by domain and task type."""


def episodes_of(strata: dict[tuple[str, str], int], capabilities: tuple[str, ...] = ("recall",)) -> list[EpisodeInfo]:
    return [
        EpisodeInfo(f"{task_type}-{i}", domain, task_type, capabilities)
        for (domain, task_type), count in strata.items()
        for i in range(count)
    ]


def parts_of(split: Split) -> tuple[tuple[str, ...], ...]:
    return split.train, split.validation, split.test


def gaps_of(split: Split, episodes: Sequence[EpisodeInfo]) -> set[Uncovered]:
    by_id = {episode.episode_id: episode for episode in episodes}
    every = {trait for episode in episodes for trait in episode.traits}
    covered = [{trait for name in ids for trait in by_id[name].traits} for ids in parts_of(split)]
    return {Uncovered(part, *trait) for part, traits in zip(PARTS, covered, strict=True) for trait in every - traits}


@pytest.mark.parametrize(
    ("n", "sizes"),
    [
        (208, (42, 42, 124)),
        (163, (33, 33, 97)),
        (10, (2, 2, 6)),
        (7, (1, 1, 5)),
        (8, (2, 2, 4)),
        (3, (1, 1, 1)),
        (2, (1, 1, 0)),
        (1, (1, 0, 0)),
    ],
)
def test_a_fifth_rounded_half_up_is_train_and_another_validation(n: int, sizes: tuple[int, int, int]) -> None:
    assert split_sizes(n) == sizes


@given(st.integers(1, 10_000))
def test_sizes_add_up_and_are_near_2_2_6(n: int) -> None:
    train, validation, test = split_sizes(n)
    assert train + validation + test == n
    assert n < 3 or train == validation
    assert n < 5 or abs(train - n / 5) <= 0.5


@pytest.mark.parametrize("seed", range(20))
def test_every_part_of_the_full_ama_bench_covers_all_domains_task_types_and_capabilities(seed: int) -> None:
    episodes = episodes_of(AMA_BENCH, ("recall", "causal", "update", "abstraction"))
    split = make_split(episodes, seed)
    assert [len(part) for part in parts_of(split)] == [42, 42, 124]
    assert split.uncovered == ()
    assert gaps_of(split, episodes) == set()


@pytest.mark.parametrize("seed", range(20))
def test_every_task_type_is_split_near_2_2_6(seed: int) -> None:
    episodes = episodes_of(AMA_BENCH)
    strata = {episode.episode_id: episode.stratum for episode in episodes}
    for ids in parts_of(make_split(episodes, seed)):
        found = Counter(strata[name] for name in ids)
        for stratum, count in AMA_BENCH.items():
            assert abs(found[stratum] - count * len(ids) / len(episodes)) < 2


def test_the_split_depends_on_the_seed_and_not_on_the_order_of_the_episodes() -> None:
    episodes = episodes_of(AMA_BENCH)
    assert make_split(episodes, 3) == make_split(episodes[::-1], 3)
    assert len({split.test for split in make_splits(episodes)}) == 5


def test_a_split_is_the_same_in_every_process() -> None:
    assert make_split(episodes_of({("WEB", "webarena"): 10}), 0) == Split(
        train=("webarena-0", "webarena-1"),
        validation=("webarena-3", "webarena-6"),
        test=("webarena-2", "webarena-4", "webarena-5", "webarena-7", "webarena-8", "webarena-9"),
    )


def test_a_task_type_of_two_episodes_goes_to_train_and_validation_and_the_gap_is_reported() -> None:
    episodes = episodes_of({("WEB", "webarena"): 20, ("Game", "rare"): 2})
    split = make_split(episodes, 0)
    assert {"rare-0", "rare-1"} <= {*split.train, *split.validation}
    assert split.uncovered == (Uncovered("test", "domain", "Game"), Uncovered("test", "task_type", "rare"))


def test_a_task_type_of_one_episode_goes_to_train() -> None:
    split = make_split(episodes_of({("WEB", "webarena"): 20, ("Game", "rare"): 1}), 0)
    assert "rare-0" in split.train


@pytest.mark.parametrize("seed", range(10))
def test_a_rare_capability_is_covered_like_a_rare_task_type(seed: int) -> None:
    episodes = [
        EpisodeInfo(f"conv-{i}", "conversation", "conversation", ("single_hop", "open_domain")[: 1 + (i < 3)])
        for i in range(10)
    ]
    split = make_split(episodes, seed)
    assert [len(part) for part in parts_of(split)] == [2, 2, 6]
    assert split.uncovered == ()


@st.composite
def data_sets(draw: st.DrawFn) -> list[EpisodeInfo]:
    """Task types that belong to one domain each, capabilities at random."""
    counts = draw(st.lists(st.integers(1, 9), min_size=1, max_size=8))
    capabilities = st.sets(st.sampled_from(["recall", "causal", "update"]), min_size=1)
    return [
        EpisodeInfo(f"{t}-{i}", f"domain-{t % 3}", f"type-{t}", tuple(sorted(draw(capabilities))))
        for t, count in enumerate(counts)
        for i in range(count)
    ]


@given(data_sets(), st.integers(0, 99))
def test_parts_are_disjoint_and_complete_and_report_their_gaps(episodes: list[EpisodeInfo], seed: int) -> None:
    split = make_split(episodes, seed)
    everything = [name for part in parts_of(split) for name in part]
    assert sorted(everything) == sorted(episode.episode_id for episode in episodes)
    assert tuple(len(part) for part in parts_of(split)) == split_sizes(len(episodes))
    assert set(split.uncovered) == gaps_of(split, episodes)


@given(st.lists(st.integers(3, 9), min_size=1, max_size=12), st.integers(0, 99))
def test_what_three_episodes_have_is_in_every_part_that_is_large_enough(counts: list[int], seed: int) -> None:
    strata = {(f"domain-{t % 3}", f"type-{t}"): count for t, count in enumerate(counts)}
    split = make_split(episodes_of(strata), seed)
    if len(split.train) >= len(counts):
        assert split.uncovered == ()


def test_no_episodes_and_repeated_episodes_are_refused() -> None:
    with pytest.raises(ValueError, match="no episodes to split"):
        make_split([], 0)
    twice = episodes_of({("WEB", "webarena"): 3}) * 2
    with pytest.raises(ValueError, match="'webarena-0' comes 2 times"):
        make_split(twice, 0)


def test_questions_follow_their_episode_even_when_its_id_has_slashes() -> None:
    questions = ["d/a/0", "d/a/b/1", "d/a/b/2"]
    assert [episode_of(question) for question in questions] == ["a", "a/b", "a/b"]
    assert questions_of(questions, {"a/b"}) == ("d/a/b/1", "d/a/b/2")


@pytest.mark.parametrize("text", ["a/0", "d/a/x", "d//0", ""])
def test_what_is_no_question_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no question id"):
        episode_of(text)


@pytest.mark.data
def test_five_splits_of_the_real_data_cover_everything(data_dir: Path) -> None:
    with (data_dir / "ama_bench" / "open_end_qa_set.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    episodes = [
        EpisodeInfo(
            str(row["episode_id"]), row["domain"], row["task_type"], tuple(sorted({q["type"] for q in row["qa_pairs"]}))
        )
        for row in rows
    ]
    for split in make_splits(episodes):
        assert [len(part) for part in parts_of(split)] == [33, 33, 97]
        assert split.uncovered == ()
