"""S: layouts of a summary, the steps it shows, and episodes whose summary failed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from fsspec.implementations.local import LocalFileSystem

from storage import schemas
from storage.structures.base import BuildInputs, BuiltShard, Query
from storage.structures.summary import SummaryIndex, SummaryStructure, summary_blocks, summary_turns

LAYOUT = """STATE_MEMORY
memory_summary: key_turns=2, 4; key_objective=tidy; key_events=door opened
turn_id: 2
env_state:
- action: open door

turn_id: 4
env_state:
- result: the door is open"""


def opened(tmp_path: Path, segments: list[tuple[int, int, int, str]], n_steps: int = 10) -> SummaryIndex:
    steps = [
        {"dataset": "toy", "episode_id": "e", "step": i, "position": i, "action": "a", "observation": "o"}
        for i in range(n_steps)
    ]
    rows = [{"episode_id": "e", "segment": n, "first_step": a, "last_step": b, "text": text} for n, a, b, text in segments]
    tables = {"summary": pa.Table.from_pylist(rows, schema=schemas.SUMMARIES)}
    structure = SummaryStructure()
    structure.build(BuildInputs(pa.Table.from_pylist(steps, schema=schemas.STEPS), tables), tmp_path)
    return structure.open(BuiltShard(LocalFileSystem(), str(tmp_path)), "e")


def test_each_key_turn_is_a_block_after_the_summary_line(tmp_path: Path) -> None:
    evidence = opened(tmp_path, [(0, 0, 9, LAYOUT)]).access(Query("anything"))
    assert [block.splitlines()[0] for block in evidence.blocks] == [
        "memory_summary: key_turns=2, 4; key_objective=tidy; key_events=door opened",
        "turn_id: 2",
        "turn_id: 4",
    ]
    assert evidence.steps == (2, 4)
    assert evidence.scores == ()
    assert evidence.localised


def test_the_evidence_does_not_depend_on_the_question(tmp_path: Path) -> None:
    index = opened(tmp_path, [(0, 0, 9, LAYOUT)])
    assert index.access(Query("At step 3?")) == index.access(Query(""))


def test_segments_follow_in_time_order_whatever_order_they_came_in(tmp_path: Path) -> None:
    evidence = opened(tmp_path, [(1, 5, 9, "turn_id: 6\n- b"), (0, 0, 4, "turn_id: 3\n- a")]).access(Query("q"))
    assert evidence.steps == (3, 6)
    assert evidence.blocks == ("turn_id: 3\n- a", "turn_id: 6\n- b")


@pytest.mark.parametrize(
    "head",
    [
        "turn_id: 3",
        "Turn_ID: 3",
        "  turn_id = 3",
        "**turn_id:** 3",
        "- turn_id: 3",
        "## Turn id: 3",
        "`turn_id`: 3",
        "turn_id: <3>",
    ],
)
def test_the_marks_that_models_put_around_a_turn_id_do_not_matter(head: str) -> None:
    text = f"memory_summary: x\n{head}\n- a: b"
    assert len(summary_blocks(text)) == 2
    assert summary_turns(text, 0, 9) == [3]


def test_ranges_and_lists_of_turns_are_read() -> None:
    assert summary_turns("turn_id: 3-5\nx\nturn_id: 7, 9", 0, 9) == [3, 4, 5, 7, 9]


def test_a_turn_that_the_segment_does_not_have_is_not_shown_as_a_step() -> None:
    assert summary_turns("turn_id: 4\nturn_id: 99\nturn_id: 5-1000000000", 0, 9) == [4, 5, 6, 7, 8, 9]


def test_free_text_is_read_by_paragraph(tmp_path: Path) -> None:
    evidence = opened(tmp_path, [(0, 0, 9, "First they met.\n\nThen they parted.\n \nThe end.")]).access(Query("q"))
    assert evidence.blocks == ("First they met.", "Then they parted.", "The end.")
    assert evidence.steps == ()


def test_an_episode_whose_summary_failed_gives_empty_evidence(tmp_path: Path) -> None:
    evidence = opened(tmp_path, []).access(Query("q"))
    assert evidence.blocks == ()
    assert not evidence.localised
