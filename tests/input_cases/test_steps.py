"""Step numbers in questions: what the temporal structure shows for a question that a data set asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.selector.subsets import ORDER
from storage.artifacts import Home
from tasks.settings import Settings
from tests.input_cases.pipeline import WITHOUT_VECTORS, Pipeline, ama_episode, trajectory, write_jsonl

N_STEPS = 35
ROOMS = ("attic", "cellar", "garage", "kitchen", "library", "pantry", "studio", "terrace", "vault", "workshop")
GAPS = (2, 3, 5, 11, 13, 17, 19, 23, 29, 404, 8080, 9000)
"""Labels of an episode whose numbers look like others: a port, a status code, a count."""

NAMED = {
    "What did the agent learn in steps 3 to 7 and 12?": [3, 4, 5, 6, 7, 12],
    "How did the plan change until step 40?": [*range(N_STEPS)],
    "What happened in the last three turns?": [32, 33, 34],
    "What did the agent write at turn #0?": [0],
    "Where was the agent at step 0?": [0],
}
UNNAMED = (
    "Why did the server say error 404?",
    "Which service listens on port 8080?",
    "Where did it put the 3 apples?",
    "What changed in v2.5 of the tool?",
)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """Episode 0 has steps 0 to 34; episode 1 has the labels `GAPS`, and none of its texts shares a word with a question."""
    folder = tmp_path_factory.mktemp("steps")
    walk = trajectory((f"go to {ROOMS[i % 10]}", f"You see a {ROOMS[(i + 3) % 10]} door.") for i in range(N_STEPS))
    gaps = [{"turn_idx": label, "action": "walk north", "observation": "Grass, nothing else."} for label in GAPS]
    pipeline = Pipeline(Home(folder / "home"))
    episodes = [
        ama_episode(walk, *((question, "x") for question in NAMED)),
        ama_episode(gaps, *((question, "x") for question in UNNAMED), episode_id=1),
    ]
    pipeline.ingest(write_jsonl(folder / "a.jsonl", episodes))
    pipeline.build()
    return pipeline


def evidence_steps(pipeline: Pipeline) -> dict[str, list[int]]:
    """What T shows for each question, by its text."""
    rows = pipeline.evidence("T")
    return {q["question"]: row["steps"] for q, row in zip(pipeline.table("questions"), rows, strict=True)}


@pytest.mark.parametrize("question", NAMED)
def test_the_steps_that_a_question_names_are_shown_in_order(pipeline: Pipeline, question: str) -> None:
    """Rows 11 (ranges and lists), 12 (a prefix past the end), 13 (the last ones by index), 14 (turn 0 is no "none")."""
    assert evidence_steps(pipeline)[question] == NAMED[question]


def test_the_last_turns_go_by_index_and_not_by_label(pipeline: Pipeline) -> None:
    """Row 13 where labels have gaps."""
    assert pipeline.reads("What happened in the last three turns?", "T", episode="1")["T"]["steps"] == GAPS[-3:]


def test_turn_0_of_an_episode_that_has_none_is_not_made_up(pipeline: Pipeline) -> None:
    """Row 14: turn 0 only if it exists."""
    assert pipeline.reads("What was written at turn #0?", "T", episode="1")["T"]["steps"] == ()


def test_a_prefix_longer_than_the_budget_is_capped_and_says_so(pipeline: Pipeline) -> None:
    """Row 12: "until step 40" with room for ten steps."""
    capped = Pipeline(pipeline.home, settings=Settings(structures={"T": {"max_steps": 10}}))
    capped.build("T")
    [read] = capped.reads("Which doors did the agent see until step 40?", "T").values()
    assert len(read["steps"]) == 10
    assert set(read["steps"]) < set(range(N_STEPS))
    assert read["text"].startswith("[The question names 35 steps: 25 of them are left out here, 10 are shown.]")


def test_a_step_past_the_end_falls_back_to_words_and_invents_no_turn(pipeline: Pipeline) -> None:
    """Row 15: words decide; every policy still reads something."""
    question = "At step 77, when did the agent go to the vault?"
    read = pipeline.reads(question, "T")["T"]
    assert read["localised"]
    assert set(read["steps"]) <= set(range(N_STEPS))
    assert all("vault" in block for block in read["text"].split("\n\n"))
    assert "77" not in read["text"]
    nothing = pipeline.reads("At step 77, which zebra?", "T")["T"]
    assert (nothing["steps"], nothing["text"], nothing["localised"]) == ((), "", False)


def test_a_question_whose_step_does_not_exist_is_answered_from_a_non_empty_selection(
    tmp_path: Path, pipeline: Pipeline
) -> None:
    """Row 15, the selector's side: no policy ends up with nothing to read."""
    odd = ama_episode(trajectory([("open box", "A coin."), ("close box", "Done.")]), ("At step 77, which coin?", "none"))
    own = Pipeline(Home(tmp_path / "home"))
    own.ingest(write_jsonl(tmp_path / "a.jsonl", [odd]))
    own.build()
    outcomes = own.evaluate("all", "random", "T", "R")
    assert [row["status"] for row in outcomes] == ["ok"] * 4
    assert all(row["n_structures"] >= 1 and set(row["subset"]) <= {*ORDER, "+"} for row in outcomes)
    assert outcomes[0]["subset"] == "+".join(WITHOUT_VECTORS)


@pytest.mark.parametrize("question", UNNAMED)
def test_a_number_that_counts_or_identifies_something_is_no_step(pipeline: Pipeline, question: str) -> None:
    """Row 16: the episode has steps 2, 3, 5, 404 and 8080; none of them is shown, and no window counts as found."""
    assert evidence_steps(pipeline)[question] == []
    assert not pipeline.reads(question, "R", episode="1")["R"]["localised"]


@pytest.mark.parametrize("label", GAPS)
def test_the_same_numbers_are_steps_after_the_word_step(pipeline: Pipeline, label: int) -> None:
    """Row 16, the other side: what is left out there is found here."""
    found = pipeline.reads(f"What happened at step {label}?", "TR", episode="1")
    assert found["T"]["steps"] == (label,)
    assert label in found["R"]["steps"]
