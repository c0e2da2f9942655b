from __future__ import annotations

from models.baselines.long_context import trajectory_section
from models.compose import ComposeConfig, compose
from storage.structures.render import StepRow

CONFIG = ComposeConfig(context_window=4_000, answer_tokens=200, task_tokens=500)


def rows(n: int, words: int = 40) -> list[StepRow]:
    return [StepRow(i, f"act {i}", f"thing{i} " * words, None, None, None, None) for i in range(n)]


def test_a_short_trajectory_is_shown_whole_and_in_order() -> None:
    section = trajectory_section(rows(3), CONFIG)
    assert [block.split(":")[0] for block in section.blocks] == ["Step 0", "Step 1", "Step 2"]


def test_a_long_trajectory_keeps_its_most_recent_steps_and_says_what_is_left_out() -> None:
    section = trajectory_section(rows(200), CONFIG)
    assert section.blocks[0].endswith("earlier steps left out ...]")
    assert section.blocks[-1].startswith("Step 199:")
    kept = len(section.blocks) - 1
    assert section.blocks[0] == f"[... {200 - kept} earlier steps left out ...]"


def test_the_section_fits_the_prompt_without_another_cut() -> None:
    section = trajectory_section(rows(200), CONFIG)
    composed = compose("What happened at the end?", "a task " * 300, [section], CONFIG)
    assert "L" not in composed.truncated
    assert composed.prompt_tokens <= CONFIG.context_window - CONFIG.answer_tokens


def test_a_last_step_longer_than_the_window_is_cut_inside() -> None:
    section = trajectory_section(rows(2, words=20_000), CONFIG)
    assert "Step 1:" in section.text
    assert section.n_tokens < CONFIG.context_window


def test_an_empty_trajectory_gives_an_empty_section() -> None:
    assert trajectory_section([], CONFIG).text == ""
