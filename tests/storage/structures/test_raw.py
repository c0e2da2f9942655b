"""R: windows and their ranking."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from fsspec.implementations.local import LocalFileSystem
from hypothesis import given
from hypothesis import strategies as st

from storage import schemas
from storage.structures.base import BuildInputs, BuiltShard, EpisodeIndex, Query
from storage.structures.raw import RawStructure
from storage.structures.windows import window_overlap, window_size, windows


def steps_table(texts: list[str], first: int = 0) -> pa.Table:
    rows = [
        {"dataset": "toy", "episode_id": "e", "step": first + i, "position": i, "action": f"act {i}", "observation": text}
        for i, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, schema=schemas.STEPS)


def open_raw(tmp_path: Path, texts: list[str], structure: RawStructure | None = None, first: int = 0) -> EpisodeIndex:
    structure = structure or RawStructure()
    structure.build(BuildInputs(steps_table(texts, first)), tmp_path)
    return structure.open(BuiltShard(LocalFileSystem(), str(tmp_path)), "e")


@pytest.mark.parametrize(
    ("n_steps", "size", "overlap"),
    [(9, 3, 1), (36, 3, 1), (60, 5, 1), (72, 6, 2), (100, 9, 2), (120, 10, 3), (168, 14, 4), (192, 16, 4), (525, 16, 4)],
)
def test_the_windows_have_the_size_and_overlap_of_the_paper(n_steps: int, size: int, overlap: int) -> None:
    assert (window_size(n_steps), window_overlap(size)) == (size, overlap)


@given(st.integers(0, 700))
def test_windows_cover_every_step_and_none_lies_inside_another(n_steps: int) -> None:
    size = window_size(n_steps)
    spans = windows(n_steps, size, window_overlap(size))
    assert {place for span in spans for place in range(*span)} == set(range(n_steps))
    assert all(0 < stop - start <= size for start, stop in spans)
    for (start, stop), (next_start, next_stop) in pairwise(spans):
        assert start < next_start < stop < next_stop
    assert not spans or spans[-1][1] == n_steps


def test_a_full_overlap_still_moves_on() -> None:
    assert window_overlap(3, share=1.0) == 2


def test_the_best_windows_are_read_in_time_order_with_each_step_once(tmp_path: Path) -> None:
    texts = [f"room {i}" for i in range(60)]
    texts[8], texts[40] = "a golden ladder and a golden key", "a golden key"
    evidence = open_raw(tmp_path, texts).access(Query("Where was the golden ladder?"))
    assert {8, 40} <= set(evidence.steps)
    assert list(evidence.steps) == sorted(set(evidence.steps))
    assert len(evidence.blocks) == len(evidence.steps)
    assert list(evidence.scores) == sorted(evidence.scores, reverse=True)
    assert 0 < len(evidence.scores) <= 3
    assert evidence.localised


def test_without_a_match_the_single_best_window_is_shown_and_marked(tmp_path: Path) -> None:
    evidence = open_raw(tmp_path, [f"room {i}" for i in range(60)]).access(Query("xylophone"))
    assert evidence.steps == (0, 1, 2, 3, 4)
    assert not evidence.localised


def test_labels_that_do_not_start_at_zero_are_kept(tmp_path: Path) -> None:
    evidence = open_raw(tmp_path, ["one", "two", "golden"], first=7).access(Query("golden"))
    assert evidence.steps == (7, 8, 9)
    assert evidence.blocks[2] == "Step 9:\nAction: act 2\nObservation: golden"


def test_a_long_observation_is_cut_with_a_marker_and_braces_stay(tmp_path: Path) -> None:
    structure = RawStructure(max_chars=10)
    evidence = open_raw(tmp_path, ['{"a": {x}}' + "y" * 5_000], structure).access(Query("act"))
    assert '{"a": {x}} [... 5,000 more characters]' in evidence.blocks[0]


def test_chinese_text_is_found_by_a_chinese_question(tmp_path: Path) -> None:
    texts = [f"房间{i}很空" for i in range(20)]
    texts[13] = "桌子上有一把金钥匙"
    assert 13 in open_raw(tmp_path, texts).access(Query("金钥匙在哪里?")).steps


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_gives_no_evidence(tmp_path: Path, question: str) -> None:
    evidence = open_raw(tmp_path, ["one", "two"]).access(Query(question))
    assert (evidence.blocks, evidence.localised) == ((), False)
