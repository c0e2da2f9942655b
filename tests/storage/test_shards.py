from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from storage.artifacts import Home
from storage.records import Episode
from storage.shards import IngestCounts, ShardConfig, datasets, ingest, load_dataset, read_shard
from tests.fakes import count_words, make_episode


@pytest.fixture(params=["local", "memory"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return Home(tmp_path) if request.param == "local" else Home(f"memory://shards/{tmp_path.name}")


def add(home: Home, *episodes: Episode, max_episodes: int = 2) -> IngestCounts:
    return ingest(home, "toy", episodes, ShardConfig(max_episodes), "rules", count_words)


def counts(result: IngestCounts) -> tuple[int, int, int, int]:
    return result.new, result.changed, result.unchanged, result.duplicate


def test_a_second_ingest_of_the_same_episodes_finds_nothing_new(home: Home) -> None:
    episodes = [make_episode(f"e{i}") for i in range(5)]
    assert counts(add(home, *episodes)) == (5, 0, 0, 0)
    before = load_dataset(home, "toy")
    assert [len(shard.episodes) for shard in before.shards] == [2, 2, 1]
    assert counts(add(home, *episodes)) == (0, 0, 5, 0)
    assert load_dataset(home, "toy") == before
    assert datasets(home) == ["toy"]


def test_an_unchanged_episode_keeps_its_shard_whatever_comes_with_it(home: Home) -> None:
    add(home, make_episode("a"), make_episode("b"))
    shard = load_dataset(home, "toy").live["b"]
    assert counts(add(home, make_episode("c"), make_episode("b"))) == (1, 0, 1, 0)
    assert load_dataset(home, "toy").live["b"] == shard


def test_a_changed_episode_moves_to_a_new_shard_and_supersedes_its_old_row(home: Home) -> None:
    add(home, make_episode("a"), make_episode("b"))
    old = load_dataset(home, "toy").shards[0]
    assert counts(add(home, make_episode("a", note="changed"), make_episode("b"))) == (0, 1, 1, 0)
    dataset = load_dataset(home, "toy")
    assert dataset.live["a"] == dataset.shards[1]
    assert dataset.live["b"] == old
    assert dataset.live_shards() == {old: ("b",), dataset.shards[1]: ("a",)}
    assert set(read_shard(home, old, "episodes").column("episode_id").to_pylist()) == {"a", "b"}


def test_an_episode_that_changes_back_is_live_again_in_its_first_content(home: Home) -> None:
    for note in ("", "changed", ""):
        add(home, make_episode("a", note=note))
    dataset = load_dataset(home, "toy")
    assert len(dataset.shards) == 3
    assert dataset.live["a"].episodes["a"] == dataset.shards[0].episodes["a"]


def test_an_equal_episode_in_one_source_is_a_duplicate_and_a_different_one_a_conflict(home: Home) -> None:
    result = add(home, make_episode("a"), make_episode("a"), make_episode("a", note="other"))
    assert counts(result) == (1, 0, 0, 1)
    assert result.conflicts == ["a"]


def test_a_shard_is_full_by_characters_too(home: Home) -> None:
    long = replace(make_episode("long"), steps=make_episode(n_steps=200).steps)
    ingest(home, "toy", [long, make_episode("a")], ShardConfig(10, max_chars=1_000), "rules", count_words)
    assert [len(shard.episodes) for shard in load_dataset(home, "toy").shards] == [1, 1]


def test_an_ingest_that_breaks_off_keeps_the_full_shards(home: Home) -> None:
    def source() -> object:
        yield make_episode("a")
        yield make_episode("b")
        raise RuntimeError("cable pulled")

    with pytest.raises(RuntimeError, match="cable"):
        ingest(home, "toy", source(), ShardConfig(1), "rules", count_words)  # type: ignore[arg-type]
    assert set(load_dataset(home, "toy").live) == {"a", "b"}


def test_a_limit_takes_the_first_live_episodes(home: Home) -> None:
    add(home, *(make_episode(f"e{i}") for i in range(5)))
    assert list(load_dataset(home, "toy").live_shards(3).values()) == [("e0", "e1"), ("e2",)]


def test_tables_hold_what_the_records_say(home: Home) -> None:
    add(home, make_episode("a"))
    [shard] = load_dataset(home, "toy").shards
    [row] = read_shard(home, shard, "episodes").to_pylist()
    assert (row["n_steps"], row["n_tokens"], row["shard"]) == (4, 4 * 8, shard.name)
    assert read_shard(home, shard, "steps").column("step").to_pylist() == [0, 1, 2, 3]
    assert read_shard(home, shard, "questions").column("question_id").to_pylist() == ["toy/a/0", "toy/a/1"]
