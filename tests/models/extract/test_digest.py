"""The key-turn digest: verbatim, within its budget, in the layout that structure S reads."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from models.extract.digest import DigestConfig, digest
from models.extract.digest_header import ranges
from models.extract.segments import segment_steps
from storage.structures.render import StepRow
from storage.structures.summary import summary_blocks, summary_turns


def act(step: int, action: str, observation: str) -> StepRow:
    return StepRow(step, action, observation, None, None, None, None)


def say(step: int, speaker: str, text: str, day: int = 8) -> StepRow:
    return StepRow(step, "dialogue", text, speaker, day, datetime(2023, 5, day, 13, 56, tzinfo=UTC), f"D{day}:{step}")


def text_of(task: str, rows: list[StepRow], config: DigestConfig | None = None) -> str:
    return "\n\n".join(str(segment["text"]) for segment in digest(task, rows, config))


ROWS = [
    act(0, "ls -la /workspace/app", "total 24\nconfig.yaml\nmain.py"),
    act(1, "cat /workspace/app/config.yaml", "port: 8080\nmode: debug"),
    act(2, "python main.py", "Traceback (most recent call last)\nKeyError: 'token'"),
    act(3, "ls -la /workspace/app", "total 24\nconfig.yaml\nmain.py"),
]


def test_the_layout_is_that_of_the_papers_prompt() -> None:
    text = text_of("Fix the app.", ROWS)
    blocks = summary_blocks(text)
    assert blocks[0].startswith("memory_summary: key_turns=0-3; key_objective=Fix the app.; key_events=errors at 2; ")
    assert blocks[2] == "turn_id: 1\nenv_state:\n- action: cat /workspace/app/config.yaml\n- port: 8080\n- mode: debug"
    assert "- error: Traceback (most recent call last) | KeyError: 'token'" in blocks[3]
    assert summary_turns(text, 0, 3) == [0, 1, 2, 3]


def test_an_observation_that_was_seen_before_is_not_repeated_but_the_action_is() -> None:
    text = text_of("t", ROWS)
    assert text.count("total 24 | config.yaml | main.py") == 1
    assert text.count("- action: ls -la /workspace/app") == 2


def test_equal_episodes_have_equal_digests() -> None:
    assert digest("t", ROWS) == digest("t", list(ROWS))


def test_a_long_episode_keeps_its_budget_and_its_rare_turn() -> None:
    rows = [act(i, f"go to shelf {i % 7}", f"You see a box {i % 5} and nothing else. " * 9) for i in range(500)]
    rows[321] = act(321, "open safe 1", "Error 503: the combination is XK-42-PLUM.")
    text = text_of("t", rows)
    assert len(text) <= DigestConfig().max_chars
    assert "XK-42-PLUM" in text


def test_one_huge_observation_costs_no_more_than_others_and_hides_none() -> None:
    rows = [
        act(0, "dump", "row of numbers 123 456, and words. " * 150_000),
        *(act(i, f"step {i}", f"value{i}") for i in range(1, 9)),
    ]
    started = time.perf_counter()
    text = text_of("t", rows)
    assert time.perf_counter() - started < 2
    assert len(text) <= DigestConfig().max_chars
    assert all(f"value{i}" in text for i in range(1, 9))


def test_a_history_longer_than_the_window_has_a_summary_per_turn_aligned_segment() -> None:
    rows = [act(i, f"action {i}", f"result {i} " * 40) for i in range(50)]
    segments = digest("t", rows, DigestConfig(window_chars=6_000))
    assert len(segments) > 1
    bounds = [(segment["first_step"], segment["last_step"]) for segment in segments]
    assert bounds[0][0] == 0
    assert bounds[-1][1] == 49
    assert all(int(str(b)) + 1 == a for (_, b), (a, _) in pairwise(bounds))
    assert all(str(segment["text"]).startswith("memory_summary: ") for segment in segments)


def test_segments_hold_whole_steps_and_all_of_them() -> None:
    rows = [act(0, "a", "x" * 50_000), *(act(i, "a", "x" * 30) for i in range(1, 20))]
    groups = segment_steps(rows, window_chars=1_000, max_step_chars=8_000)
    assert [row for group in groups for row in group] == rows
    assert groups[0] == rows[:1]
    assert segment_steps([], 1_000, 8_000) == []


def test_a_conversation_shows_who_said_what_and_when() -> None:
    rows = [say(0, "Caroline", "I adopted a puppy called Pixie."), say(1, "Melanie", "We moved to Lisbon.", day=9)]
    text = text_of("", rows)
    assert "key_objective=conversation of Caroline and Melanie" in text
    assert "session 8 on 08 May 2023 (turns 0-0)" in text
    assert "- session: 9, 09 May 2023 13:56\n- Melanie: We moved to Lisbon." in text


def test_empty_and_odd_steps_do_no_harm() -> None:
    rows = [act(0, "", ""), act(1, "-", ""), act(2, "观察", "房间里有一只猫。"), act(3, "{x}", '{"a": {"b": [1, 2]}}')]
    text = text_of("", rows)
    assert "房间里有一只猫" in text
    assert digest("t", []) == []


def test_an_observed_turn_id_does_not_open_a_block() -> None:
    text = text_of("t", [act(0, "read log", "turn_id: 7\nturn id: 8"), *(act(i, "wait", "ok") for i in range(1, 9))])
    assert re.findall(r"^turn_id: (\d)$", text, re.MULTILINE)[0] == "0"
    assert all(block.startswith(("memory_summary", "turn_id: ")) for block in summary_blocks(text))
    assert len(summary_blocks(text)) == 1 + len(re.findall(r"^turn_id: \d$", text, re.MULTILINE))


def test_runs_of_turns_are_written_as_ranges() -> None:
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert ranges([]) == ""


@pytest.mark.data
def test_real_episodes_keep_the_budget_and_copy_verbatim(data_dir: Path) -> None:
    with (data_dir / "ama_bench" / "open_end_qa_set.jsonl").open(encoding="utf-8") as lines:
        episodes = [json.loads(next(lines)) for _ in range(30)]
    for episode in episodes:
        rows = [act(t["turn_idx"], t["action"] or "", t["observation"] or "") for t in episode["trajectory"]]
        text = text_of(episode["task"], rows)
        assert len(text) <= DigestConfig().max_chars
        source = " ".join(" ".join(f"{row.action} {row.observation}" for row in rows).split())
        for line in re.findall(r"^- (?:action|result|error): (.*)", text, re.MULTILINE)[:40]:
            assert line.split(" | ")[0].rstrip()[:60] in source
