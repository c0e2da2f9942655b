"""V: the build's join, commits into LanceDB, and exact search inside one episode of one shard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from fsspec.implementations.local import LocalFileSystem

from storage import schemas
from storage.artifacts import ArtifactError
from storage.structures.base import BuildInputs, BuiltShard, Query
from storage.structures.vector import VectorStructure

DIMENSION = 8


def unit(seed: int, dimension: int = DIMENSION) -> np.ndarray:
    vector = np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def steps_of(episodes: dict[str, int]) -> pa.Table:
    rows = [
        {
            "dataset": "toy",
            "episode_id": episode,
            "step": i,
            "position": i,
            "action": f"act {i}",
            "observation": f"{episode} {i}",
        }
        for episode, count in episodes.items()
        for i in range(count)
    ]
    return pa.Table.from_pylist(rows, schema=schemas.STEPS)


def build(home: Path, name: str, episodes: dict[str, int], dimension: int = DIMENSION, seed: int = 0) -> BuiltShard:
    """Step i of every episode has the vector `unit(seed + i)`."""
    folder = home / "structures" / "V" / "v1-settings" / name
    folder.mkdir(parents=True)
    steps = steps_of(episodes)
    vectors = [
        {"episode_id": episode, "step": i, "vector": unit(seed + i, dimension).tolist()}
        for episode, count in episodes.items()
        for i in reversed(range(count))
    ]
    table = pa.Table.from_pylist(vectors, schema=schemas.embeddings(dimension))
    VectorStructure().build(BuildInputs(steps, {"embeddings": table}), folder)
    return BuiltShard(LocalFileSystem(), str(folder), str(home / "vectors"))


def test_the_nearest_steps_come_first_with_their_cosine(tmp_path: Path) -> None:
    shard = build(tmp_path, "s0", {"a": 30, "b": 30})
    VectorStructure().commit([shard])
    evidence = VectorStructure().open(shard, "b").access(Query("which?", unit(7)))
    expected = sorted(range(30), key=lambda i: -float(unit(i) @ unit(7)))[:5]
    assert list(evidence.steps) == expected
    assert evidence.scores == pytest.approx([float(unit(i) @ unit(7)) for i in expected], abs=1e-6)
    assert evidence.blocks[0] == "Step 7:\nAction: act 7\nObservation: b 7"


def test_ties_are_shown_in_step_order(tmp_path: Path) -> None:
    folder = tmp_path / "v1" / "s0"
    folder.mkdir(parents=True)
    steps = steps_of({"a": 40})
    same = [{"episode_id": "a", "step": i, "vector": unit(0).tolist()} for i in range(40)]
    table = pa.Table.from_pylist(same, schema=schemas.embeddings(DIMENSION))
    VectorStructure().build(BuildInputs(steps, {"embeddings": table}), folder)
    shard = BuiltShard(LocalFileSystem(), str(folder), str(tmp_path / "vectors"))
    VectorStructure().commit([shard])
    assert VectorStructure().open(shard, "a").access(Query("which?", unit(3))).steps == (0, 1, 2, 3, 4)


def test_an_episode_with_fewer_steps_than_asked_for_shows_them_all(tmp_path: Path) -> None:
    shard = build(tmp_path, "s0", {"a": 3})
    VectorStructure().commit([shard])
    assert sorted(VectorStructure().open(shard, "a").access(Query("which?", unit(1))).steps) == [0, 1, 2]


def test_a_shard_is_committed_once_however_often_it_is_asked(tmp_path: Path) -> None:
    first, second = build(tmp_path, "s0", {"a": 4}), build(tmp_path, "s1", {"b": 6})
    assert VectorStructure().commit([first]) == 4
    assert VectorStructure().commit([first, second, second]) == 6
    assert VectorStructure().commit([first, second]) == 0
    assert VectorStructure().commit([]) == 0


def test_a_changed_episode_in_a_new_shard_is_not_mixed_with_the_old_one(tmp_path: Path) -> None:
    old, new = build(tmp_path, "s0", {"a": 9}), build(tmp_path, "s1", {"a": 3}, seed=100)
    VectorStructure().commit([old, new])
    assert set(VectorStructure().open(new, "a").access(Query("which?", unit(8))).steps) == {0, 1, 2}


def test_the_episode_index_is_there_after_a_commit(tmp_path: Path) -> None:
    import lancedb

    shard = build(tmp_path, "s0", {"a": 4})
    VectorStructure().commit([shard])
    (index,) = lancedb.connect(shard.vectors).open_table("minilm").list_indices()
    assert (index.columns, index.index_type) == (["episode_id"], "BTree")


def test_a_commit_by_another_process_is_seen_by_an_open_table(tmp_path: Path) -> None:
    first, second = build(tmp_path, "s0", {"a": 4}), build(tmp_path, "s1", {"b": 6})
    VectorStructure().commit([first])
    VectorStructure().open(first, "a")
    VectorStructure().commit([second])
    assert VectorStructure().open(second, "b").access(Query("which?", unit(5))).steps[0] == 5


def test_quotes_in_an_episodes_name_are_data(tmp_path: Path) -> None:
    shard = build(tmp_path, "s0", {"it's ' OR 'a' = 'a": 2, "other": 3})
    VectorStructure().commit([shard])
    evidence = VectorStructure().open(shard, "it's ' OR 'a' = 'a").access(Query("which?", unit(0)))
    assert len(evidence.steps) == 2
    assert "other" not in evidence.text


def test_opening_before_the_commit_says_what_to_run(tmp_path: Path) -> None:
    first, second = build(tmp_path, "s0", {"a": 4}), build(tmp_path, "s1", {"b": 4})
    with pytest.raises(ArtifactError, match="strata build"):
        VectorStructure().open(first, "a")
    VectorStructure().commit([first])
    with pytest.raises(ArtifactError, match="strata build"):
        VectorStructure().open(second, "b")


def test_a_query_without_a_vector_or_of_another_encoder_is_refused(tmp_path: Path) -> None:
    shard = build(tmp_path, "s0", {"a": 4})
    VectorStructure().commit([shard])
    index = VectorStructure().open(shard, "a")
    with pytest.raises(ValueError, match=r"Query\.vector"):
        index.access(Query("which?"))
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        index.access(Query("which?", unit(0, 3)))
    assert index.access(Query(" ")).blocks == ()


def test_a_step_without_a_vector_is_an_error_that_names_it(tmp_path: Path) -> None:
    vectors = [{"episode_id": "a", "step": i, "vector": unit(i).tolist()} for i in (0, 2)]
    table = pa.Table.from_pylist(vectors, schema=schemas.embeddings(DIMENSION))
    with pytest.raises(ValueError, match="step 1 of episode 'a'"):
        VectorStructure().build(BuildInputs(steps_of({"a": 3}), {"embeddings": table}), tmp_path)


def test_an_encoder_that_changed_its_size_is_refused(tmp_path: Path) -> None:
    VectorStructure().commit([build(tmp_path, "s0", {"a": 4})])
    wider = build(tmp_path, "s1", {"b": 4}, dimension=16)
    with pytest.raises(ValueError, match="another name"):
        VectorStructure().commit([wider])


def test_encoders_have_tables_of_their_own_whatever_their_names(tmp_path: Path) -> None:
    shard = build(tmp_path, "s0", {"a": 4})
    for encoder in ("minilm", "org/model", "org:model"):
        assert VectorStructure(encoder=encoder).commit([shard]) == 4
        assert VectorStructure(encoder=encoder).open(shard, "a").access(Query("which?", unit(2))).steps[0] == 2


def test_a_step_without_an_observation_still_has_a_text_to_embed() -> None:
    rows = [{"dataset": "toy", "episode_id": "a", "step": 0, "position": 0, "action": "jump", "observation": ""}]
    (text,) = VectorStructure().texts(pa.Table.from_pylist(rows, schema=schemas.STEPS))
    assert "jump" in text
