"""Odd source files and texts, from the reader to what a structure shows of them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from storage.artifacts import Home
from storage.corpora.base import ReadReport
from storage.corpora.locomo import Locomo
from storage.journal import Journal
from storage.records import ABSTENTION
from storage.structures.render import DIALOGUE
from tasks.budget import open_budget
from tasks.scoring import Asked, score_answers
from tasks.settings import Settings
from tests.input_cases.encoder import RecordingEncoder
from tests.input_cases.pipeline import (
    WITHOUT_VECTORS,
    Pipeline,
    Row,
    ama_episode,
    conversation,
    said,
    trajectory,
    write_jsonl,
)

ROOMS = ("attic", "cellar", "garage", "kitchen", "library", "pantry", "studio", "terrace", "vault", "workshop")
WALK = [(f"go to {room}", f"You see the {room}.") for room in ROOMS]
QUESTION = ("At step 3, where did the agent go?", "kitchen")


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Pipeline(Home(tmp_path / "home"))


@pytest.fixture
def dialogue(tmp_path: Path) -> Pipeline:
    return Pipeline(Home(tmp_path / "home"), "locomo")


def content_hashes(folder: Path, *files: bytes) -> list[str]:
    """The content hash of the one episode in each file, each ingested into a home of its own."""
    hashes = []
    for number, data in enumerate(files):
        source = folder / f"{number}.jsonl"
        source.write_bytes(data)
        pipeline = Pipeline(Home(folder / f"home-{number}"))
        pipeline.ingest(source)
        [episode] = pipeline.table("episodes")
        hashes.append(episode["content_hash"])
    return hashes


def test_a_turn_without_observation_keeps_its_index_and_its_action_stays_searchable(
    tmp_path: Path, pipeline: Pipeline, encoder: RecordingEncoder
) -> None:
    """Row 1: observation "", null or missing."""
    turns = trajectory([*WALK, ("open hatch", ""), ("ring bell", None), ("wave lantern", None)])
    del turns[-1]["observation"]
    pipeline.ingest(write_jsonl(tmp_path / "a.jsonl", [ama_episode(turns, QUESTION)]))
    assert [(row["step"], row["observation"]) for row in pipeline.table("steps")[-3:]] == [(10, ""), (11, ""), (12, "")]
    pipeline.build("STGVR")
    for step, action in ((10, "open hatch"), (11, "ring bell"), (12, "wave lantern")):
        found = pipeline.reads(f"Which {action.split()[1]} did the agent {action.split()[0]}?", WITHOUT_VECTORS)
        assert found["T"]["steps"] == (step,)
        assert step in found["R"]["steps"]
        assert step in found["G"]["steps"]
        assert action in found["S"]["text"]
    assert sum("Action: wave lantern" in text for text in encoder.documents) == 1
    assert all(text.strip() for text in encoder.documents)


def test_two_ids_in_one_evidence_cell_are_split_and_bad_ids_are_counted(tmp_path: Path, dialogue: Pipeline) -> None:
    """Row 2: joined by "; " or by spaces; a bare `D`, `D:11:26` without such a turn, an id of another conversation."""
    turns = [said(f"D1:{i}", "Ann" if i % 2 else "Bo", f"I painted the {room}.") for i, room in enumerate(ROOMS, start=1)]
    cells = (["D1:2; D1:3"], ["D1:4 D1:05"], ["D", "D1:6"], ["D:11:26"], ["D9:99"])
    pairs = [{"question": "Who painted?", "answer": "Ann", "category": 4, "evidence": cell} for cell in cells]
    episode = conversation([("1:56 pm on 8 May, 2023", turns)], *pairs)
    report = dialogue.ingest(write_jsonl(tmp_path / "locomo.jsonl", [episode]))
    rows = dialogue.table("questions")
    assert [row["evidence_steps"] for row in rows] == [[1, 2], [3, 4], [5], [], []]
    assert [row["unresolved_refs"] for row in rows] == [[], [], ["D"], ["D11:26"], ["D9:99"]]
    assert report["warnings"]["unresolved_evidence_refs"] == 3
    dialogue.build("T")
    outcomes = dialogue.evaluate("T", letters="T")
    assert [row["status"] for row in outcomes] == ["ok"] * 5
    assert all(row["score"] is not None for row in outcomes)


@pytest.mark.data
def test_the_stray_colon_of_the_real_file_names_a_turn_that_exists(data_dir: Path) -> None:
    """Row 2 on LoCoMo itself: `D:11:26` is D11:26 there, and exactly three ids name no turn."""
    episodes = list(Locomo().read(str(data_dir / "locomo" / "locomo10.json"), ReadReport()))
    questions = [question for episode in episodes for question in episode.questions]
    assert any("D11:26" in question.evidence_refs for question in questions)
    assert sorted(ref for question in questions for ref in question.unresolved_refs) == ["D", "D10:19", "D4:36"]


@pytest.mark.parametrize(("dataset", "metric"), [("ama-bench", "ama_f1"), ("locomo", "locomo_f1")])
def test_a_number_as_gold_answer_is_scored_as_its_digits(tmp_path: Path, dataset: str, metric: str) -> None:
    """Row 3: the gold answer is the integer 2022 (the judge's side is in `test_judging`)."""
    pipeline = Pipeline(Home(tmp_path / "home"), dataset)
    pair = {"question": "In which year?", "answer": 2022, "category": 2, "evidence": []}
    rows = {
        "ama-bench": ama_episode(trajectory(WALK), ("In which year?", 2022)),
        "locomo": conversation([("1:56 pm on 8 May, 2023", [said("D1:1", "Ann", "Hi")])], pair),
    }
    report = pipeline.ingest(write_jsonl(tmp_path / "locomo.jsonl", [rows[dataset]]))
    [question] = pipeline.table("questions")
    assert question["answer"] == "2022"
    assert report["warnings"]["non_string_answers"] == 1
    asked = [Asked(question, "", text) for text in ("2022", "In 2022", "2023")]
    right, longer, wrong = score_answers(pipeline.home, Settings(), metric, asked, open_budget(None))
    assert (right, wrong) == ((1.0, "ok"), (0.0, "ok"))
    assert longer[0] == pytest.approx(2 / 3)


def test_the_tempting_answer_of_an_adversarial_question_is_never_gold(tmp_path: Path, dialogue: Pipeline) -> None:
    """Row 4: an adversarial item has only a tempting wrong answer."""
    pair = {
        "question": "Which trophy did Ann win?",
        "category": 5,
        "evidence": ["D1:1"],
        "adversarial_answer": "a golden cup",
    }
    turns = [said("D1:1", "Bo", "I won a golden cup!"), said("D1:2", "Ann", "Well done!")]
    dialogue.ingest(write_jsonl(tmp_path / "locomo.jsonl", [conversation([("1:56 pm on 8 May, 2023", turns)], pair)]))
    [question] = dialogue.table("questions")
    assert (question["answer"], question["capability"]) == (ABSTENTION, "adversarial")
    asked = [Asked(question, "", text) for text in ("a golden cup", "No information available.")]
    scores = score_answers(dialogue.home, Settings(), "locomo_f1", asked, open_budget(None))
    assert [score for score, _ in scores] == [0.0, 1.0]


def test_a_byte_order_mark_and_windows_line_ends_leave_the_content_hash_alone(tmp_path: Path) -> None:
    """Row 5: UTF-8 with a byte order mark and CRLF."""
    row = json.dumps(ama_episode(trajectory([*WALK, ("say", "naïve 🙂")]), QUESTION), ensure_ascii=False).encode()
    plain, marked = content_hashes(tmp_path, row + b"\n", b"\xef\xbb\xbf" + row + b"\r\n")
    assert plain == marked


def test_a_cut_last_line_is_named_and_the_finished_file_adds_only_what_was_missing(
    tmp_path: Path, pipeline: Pipeline
) -> None:
    """Row 6: the last line ends inside a UTF-8 character."""
    source = tmp_path / "a.jsonl"
    episodes = [ama_episode(trajectory([*WALK, ("say", "naïve 🙂")]), QUESTION, episode_id=i) for i in range(3)]
    data = "".join(json.dumps(episode, ensure_ascii=False) + "\n" for episode in episodes).encode()
    source.write_bytes(data[: data.rindex("🙂".encode()) + 2])
    report = pipeline.ingest(source)
    assert report["new"] == 2
    [message] = report["bad_records"]
    assert message.startswith(f"{source}:3: ")
    source.write_bytes(data)
    report = pipeline.ingest(source)
    assert (report["new"], report["unchanged"], report["bad_records"]) == (1, 2, [])


def test_after_a_torn_line_the_journal_goes_on_with_a_fresh_one(tmp_path: Path) -> None:
    """Row 6, our own JSON Lines: a process died while it wrote, also inside a UTF-8 character."""
    home = Home(tmp_path)
    Journal(home, "answer").put("a", "e0", {"text": "naïve 🙂"})
    [segment] = (tmp_path / "journal" / "answer").glob("*.jsonl")
    line = segment.read_bytes()
    segment.write_bytes(line + line[: line.index("🙂".encode()) + 2])
    Journal(home, "answer").put("b", "e0", {"text": "whole"})
    again = Journal(home, "answer")
    assert (again.get("a"), again.get("b")) == ({"text": "naïve 🙂"}, {"text": "whole"})


def test_an_episode_that_comes_twice_with_equal_content_is_kept_once_and_counted(tmp_path: Path, pipeline: Pipeline) -> None:
    """Row 7: the second copy differs in the order of its keys only."""
    episode = ama_episode(trajectory(WALK), QUESTION)
    report = pipeline.ingest(write_jsonl(tmp_path / "a.jsonl", [episode, dict(reversed(episode.items()))]))
    assert (report["new"], report["duplicate"], report["bad_records"]) == (1, 1, [])
    assert len(pipeline.table("steps")) == len(WALK)


def test_one_huge_observation_is_cut_with_a_marker_and_costs_the_other_steps_nothing(
    tmp_path: Path, pipeline: Pipeline, encoder: RecordingEncoder
) -> None:
    """Row 8: one observation of 5 MB among short ones."""
    huge = "the corridor goes on and on " * 190_000
    question = ("At steps 3 and 5, where did the agent go?", "kitchen, hall")
    report = pipeline.ingest(
        write_jsonl(tmp_path / "a.jsonl", [ama_episode(trajectory([*WALK[:5], ("go to hall", huge), *WALK[5:]]), question)])
    )
    assert report["cleaned"] == {"overlong_texts": 1}
    stored = pipeline.table("steps")
    assert [row["observation"] for i, row in enumerate(stored) if i != 5] == [seen for _, seen in WALK]
    assert len(stored[5]["observation"]) <= pipeline.settings.sanitize.max_chars < len(huge)
    assert "characters left out" in stored[5]["observation"]
    pipeline.build("STGVR")
    found = pipeline.reads(question[0], "STGR")
    assert "more characters]" in found["T"]["text"]
    assert "You see the kitchen." in found["T"]["text"]
    assert all(read["n_tokens"] < 3_000 for read in found.values())
    assert max(map(len, encoder.documents)) < 10_000
    [row] = pipeline.evaluate("T+R")
    assert "You see the kitchen." in row["answer"]
    [row] = pipeline.evaluate("long-context")
    window = pipeline.settings.compose.context_window
    assert 0.75 * window < row["evidence_tokens"] < window  # the newest steps, then as much of the huge one as fits


def test_steps_in_any_order_are_sorted_and_hash_as_the_ordered_file(tmp_path: Path, pipeline: Pipeline) -> None:
    """Row 9: steps delivered out of order."""
    turns = trajectory(WALK)
    files = [json.dumps(ama_episode(t, QUESTION)).encode() for t in (turns, turns[::-1], [*turns[7:], *turns[:7]])]
    assert len(set(content_hashes(tmp_path, *files))) == 1
    pipeline.ingest(write_jsonl(tmp_path / "a.jsonl", [ama_episode(turns[::-1], QUESTION)]))
    rows = pipeline.table("steps")
    assert [(row["position"], row["step"], row["action"]) for row in rows] == [
        (i, i, action) for i, (action, _) in enumerate(WALK)
    ]


def test_a_base64_image_becomes_a_marker_with_type_size_and_hash(
    tmp_path: Path, pipeline: Pipeline, encoder: RecordingEncoder
) -> None:
    """Row 18: a picture inside an observation, once as a data URI and once bare."""
    picture = b"\x89PNG\r\n\x1a\n" + b"".join(hashlib.sha256(bytes([i])).digest() for i in range(200))
    code = base64.b64encode(picture).decode()
    marker = f"[base64 image/png, {len(picture):,} bytes, sha256 {hashlib.sha256(picture).hexdigest()[:8]}]"
    turns = trajectory([*WALK, ("screenshot", f'<img src="data:image/png;base64,{code}"> done'), ("dump", f"raw: {code}")])
    report = pipeline.ingest(write_jsonl(tmp_path / "a.jsonl", [ama_episode(turns, QUESTION)]))
    assert report["cleaned"] == {"base64_blobs": 2}
    pipeline.build("STGVR")
    found = pipeline.reads("What do steps 10 and 11 show?", WITHOUT_VECTORS)
    assert f'<img src="{marker}"> done' in found["T"]["text"]
    assert f"raw: {marker}" in found["T"]["text"]
    shown = [*encoder.documents, *(read["text"] for read in found.values())]
    assert not re.search("[A-Za-z0-9+/]{60}", "\n".join(shown))


def test_nul_bytes_and_lone_surrogates_are_cleaned_before_any_store_and_counted(
    tmp_path: Path, pipeline: Pipeline, encoder: RecordingEncoder
) -> None:
    """Row 19: in an observation, an action, a question, an answer and an unknown field."""
    turns = trajectory([*WALK, ("read\x00 disk", "sector\x00\x00 \ud800 ok 🙂"), ("stop", "done")])
    turns[0]["note"] = "\udfff"
    episode = ama_episode(turns, ("What did step 10 say\x00?", "ok\ud800"))
    report = pipeline.ingest(write_jsonl(tmp_path / "a.jsonl", [episode]))
    assert report["cleaned"] == {"nul_bytes": 4, "lone_surrogates": 3}
    pipeline.build("STGVR")
    [answer] = pipeline.evaluate("all", letters=WITHOUT_VECTORS)
    assert "sector \ufffd ok 🙂" in answer["answer"]
    rows = [row for table in ("episodes", "steps", "questions") for row in pipeline.table(table)]
    stored = json.dumps([_plain(row) for row in rows], ensure_ascii=False) + "".join(encoder.documents)
    assert "\\u0000" not in stored
    assert "\x00" not in stored
    assert stored.encode("utf-8")  # a lone surrogate cannot be encoded


def _plain(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if isinstance(value, str | int | list)}


def test_a_turn_of_a_conversation_without_words_is_kept(tmp_path: Path, dialogue: Pipeline) -> None:
    """Row 1 in a conversation: an empty utterance keeps its place, its speaker and its date."""
    turns = [said("D1:1", "Ann", "Hello Bo."), {"speaker": "Bo", "dia_id": "D1:2"}, said("D1:3", "Ann", "Are you there?")]
    pair = {"question": "What was said in session 1?", "answer": "Hello", "category": 4, "evidence": ["D1:2"]}
    dialogue.ingest(write_jsonl(tmp_path / "locomo.jsonl", [conversation([("1:56 pm on 8 May, 2023", turns)], pair)]))
    assert [(row["step"], row["action"], row["observation"]) for row in dialogue.table("steps")] == [
        (0, DIALOGUE, "Hello Bo."),
        (1, DIALOGUE, ""),
        (2, DIALOGUE, "Are you there?"),
    ]
    dialogue.build()
    [evidence] = dialogue.evidence("T")
    assert evidence["steps"] == [0, 1, 2]
    assert "[D1:2] 2023-05-08 13:56 (session 1) Bo:" in evidence["text"]
