"""T: the steps that a question names."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from storage import schemas
from storage.structures.base import BuildInputs, BuiltShard, EpisodeIndex, Query
from storage.structures.step_refs import explicit_steps
from storage.structures.temporal import TemporalStructure


def steps_table(texts: list[str], episode_id: str = "e") -> pa.Table:
    rows = [
        {"dataset": "toy", "episode_id": episode_id, "step": i, "position": i, "action": f"act {i}", "observation": text}
        for i, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, schema=schemas.STEPS)


def talk_table(turns: list[tuple[str, int, str]]) -> pa.Table:
    rows = [
        {
            "dataset": "toy",
            "episode_id": "e",
            "step": i,
            "position": i,
            "action": "dialogue",
            "observation": text,
            "speaker": "Ann",
            "session": session,
            "timestamp": datetime.fromisoformat(day).replace(tzinfo=UTC),
            "ref": f"D{session}:{i}",
        }
        for i, (day, session, text) in enumerate(turns)
    ]
    return pa.Table.from_pylist(rows, schema=schemas.STEPS)


def open_temporal(tmp_path: Path, steps: pa.Table, structure: TemporalStructure | None = None) -> EpisodeIndex:
    structure = structure or TemporalStructure()
    structure.build(BuildInputs(steps), tmp_path)
    return structure.open(BuiltShard(LocalFileSystem(), str(tmp_path)), "e")


ROOMS = [f"room {i}" for i in range(35)]


def test_named_steps_come_in_order_with_their_contents(tmp_path: Path) -> None:
    evidence = open_temporal(tmp_path, steps_table(ROOMS)).access(Query("What changed in steps 12, 3 and 3?"))
    assert evidence.steps == (3, 12)
    assert evidence.text == "Step 3:\nAction: act 3\nObservation: room 3\n\nStep 12:\nAction: act 12\nObservation: room 12"
    assert evidence.localised


def test_steps_that_a_checker_asks_for_are_added_where_they_exist(tmp_path: Path) -> None:
    index = open_temporal(tmp_path, steps_table(ROOMS))
    assert index.access(Query("What changed at step 12?", extra_steps=(30, 2, 99, 12))).steps == (2, 12, 30)
    assert index.access(Query("", extra_steps=(4,))).steps == (4,)


def test_until_a_step_past_the_end_is_the_whole_episode(tmp_path: Path) -> None:
    evidence = open_temporal(tmp_path, steps_table(ROOMS)).access(Query("Until step 40, what happened?"))
    assert evidence.steps == tuple(range(35))


def test_too_many_steps_are_capped_with_a_note_and_the_best_matching_ones_stay(tmp_path: Path) -> None:
    texts = [f"room {i}" for i in range(35)]
    texts[17] = "the golden key"
    index = open_temporal(tmp_path, steps_table(texts), TemporalStructure(max_steps=6))
    evidence = index.access(Query("Until step 30 and at step 33, where was the golden key?"))
    assert len(evidence.steps) == 6
    assert {17, 30, 33} <= set(evidence.steps)
    assert evidence.blocks[0] == "[The question names 32 steps: 26 of them are left out here, 6 are shown.]"
    assert evidence == index.access(Query("Until step 30 and at step 33, where was the golden key?"))


def test_without_a_named_step_the_best_matching_steps_are_shown(tmp_path: Path) -> None:
    texts = [*ROOMS]
    texts[9], texts[20] = "a golden key lies here", "the key is golden, a golden key"
    evidence = open_temporal(tmp_path, steps_table(texts)).access(Query("Where is the golden key?"))
    assert evidence.steps == (9, 20)
    assert evidence.localised
    assert list(evidence.scores) == sorted(evidence.scores, reverse=True)


def test_the_fallback_shows_only_keys_in_the_configuration_of_the_paper(tmp_path: Path) -> None:
    texts = [*ROOMS]
    texts[9] = "a golden key lies here"
    evidence = open_temporal(tmp_path, steps_table(texts), TemporalStructure(fallback_contents=False)).access(
        Query("golden key")
    )
    assert (evidence.blocks, evidence.steps, evidence.localised) == (("Step 9",), (), True)


@pytest.mark.parametrize("question", ["", "the", "xylophone", "At step 99, what about the xylophone?", "🙂"])
def test_a_question_that_matches_nothing_gives_no_evidence(tmp_path: Path, question: str) -> None:
    evidence = open_temporal(tmp_path, steps_table(ROOMS)).access(Query(question))
    assert (evidence.blocks, evidence.steps, evidence.localised) == ((), (), False)


def test_a_conversation_is_found_by_date_and_session(tmp_path: Path) -> None:
    table = talk_table([("2023-05-08", 1, "Hi"), ("2023-05-08", 1, "We met last Friday."), ("2023-07-06", 2, "Bye")])
    index = open_temporal(tmp_path, table)
    assert index.access(Query("What was said on 6 July 2023?")).steps == (2,)
    assert index.access(Query("What was said in the first session?")).steps == (0, 1)
    assert index.access(Query("Who did Ann meet on 5 May 2023?")).steps == (1,)


def test_a_relative_date_is_shown_resolved_against_the_session(tmp_path: Path) -> None:
    index = open_temporal(
        tmp_path, talk_table([("2023-05-08T13:56", 1, "We met last Friday."), *[("2023-05-09", 1, "Hm")] * 3])
    )
    (block,) = index.access(Query("What happened that Friday?")).blocks
    assert block == "[D1:0] 2023-05-08 13:56 (session 1) Ann: We met last Friday. (last Friday = 2023-05-05)"


def test_an_unknown_episode_is_a_key_error(tmp_path: Path) -> None:
    structure = TemporalStructure()
    structure.build(BuildInputs(steps_table(ROOMS)), tmp_path)
    with pytest.raises(KeyError, match="ghost"):
        structure.open(BuiltShard(LocalFileSystem(), str(tmp_path)), "ghost")


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="build the structure again"):
        TemporalStructure().open(BuiltShard(LocalFileSystem(), str(tmp_path)), "e")


def test_a_remote_home_is_read_through_its_file_system(tmp_path: Path) -> None:
    TemporalStructure().build(BuildInputs(steps_table(ROOMS)), tmp_path)
    for folder in ("/one", "/two"):
        fs = MemoryFileSystem(skip_instance_cache=True)  # a second object of the same protocol must be used as well
        fs.put(f"{tmp_path}/", f"{folder}/", recursive=True)
        index = TemporalStructure().open(BuiltShard(fs, folder), "e")
        assert index.access(Query("step 3")).steps == (3,)


def test_many_threads_may_open_episodes_at_once(tmp_path: Path) -> None:
    structure = TemporalStructure()
    tables = [steps_table([f"{name} {i}" for i in range(9)], name) for name in "abcdefgh"]
    structure.build(BuildInputs(pa.concat_tables(tables)), tmp_path)
    shard = BuiltShard(LocalFileSystem(), str(tmp_path))
    found: dict[str, str] = {}

    def read(name: str) -> None:
        found[name] = structure.open(shard, name).access(Query("step 4")).text

    threads = [threading.Thread(target=read, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {name: f"Step 4:\nAction: act 4\nObservation: {name} 4" for name in "abcdefgh"}


@pytest.mark.data
def test_every_step_that_a_real_question_names_is_in_its_evidence(data_dir: Path, tmp_path: Path) -> None:
    structure, checked = TemporalStructure(), 0
    shard = BuiltShard(LocalFileSystem(), str(tmp_path))
    for line in (data_dir / "ama_bench" / "open_end_qa_set.jsonl").read_text(encoding="utf-8").split("\n"):
        if not line:
            continue
        episode = json.loads(line)
        texts = [turn["observation"][:200] for turn in episode["trajectory"]]
        structure.build(BuildInputs(steps_table(texts)), tmp_path)
        index = structure.open(shard, "e")
        for pair in episode["qa_pairs"]:
            named = set(explicit_steps(pair["question"], range(len(texts))))
            assert named <= set(index.access(Query(pair["question"])).steps), pair["question"]
            checked += bool(named)
    assert checked > 1_400
