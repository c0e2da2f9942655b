"""AMA-Bench: the official layout, what may be missing from it, and what leaves a record out."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from storage.corpora.ama_bench import HUB_REVISION, AmaBench
from storage.corpora.base import CorpusError, ReadReport
from storage.records import Episode, content_hash

TOOL_CALL = '{"name": "bash", "arguments": {"cmd": "echo \\"{x}\\" {{y}} $HOME"}}'


def record(**changes: Any) -> dict[str, Any]:
    base = {
        "episode_id": 7,
        "task": "Win.",
        "task_type": "babaisai",
        "domain": "Game",
        "source": "BALROG",
        "success": False,
        "num_turns": 3,
        "total_tokens": 0,
        "trajectory": [{"turn_idx": i, "action": f"move {i}", "observation": f"seen {i}"} for i in range(3)],
        "qa_pairs": [{"question": f"What at {kind}?", "answer": kind, "type": kind, "sub_type": ""} for kind in "ABCD"],
    }
    return {key: value for key, value in (base | changes).items() if value is not ...}


def read(tmp_path: Path, *records: dict[str, Any], report: ReadReport | None = None) -> list[Episode]:
    path = tmp_path / "episodes.jsonl"
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    return list(AmaBench().read(str(path), report or ReadReport()))


def one(tmp_path: Path, report: ReadReport | None = None, **changes: Any) -> Episode:
    (episode,) = read(tmp_path, record(**changes), report=report)
    return episode


def test_an_official_row_becomes_an_episode(tmp_path: Path) -> None:
    episode = one(tmp_path)
    assert (episode.dataset, episode.episode_id, episode.task, episode.task_type) == ("ama-bench", "7", "Win.", "babaisai")
    assert [(s.step, s.action, s.observation) for s in episode.steps] == [(i, f"move {i}", f"seen {i}") for i in range(3)]
    assert [q.capability for q in episode.questions] == ["recall", "causal", "update", "abstraction"]
    assert [q.index for q in episode.questions] == [0, 1, 2, 3]
    assert all(q.evidence_refs == q.unresolved_refs == q.evidence_steps == () for q in episode.questions)


def test_fields_that_are_not_read_are_kept(tmp_path: Path) -> None:
    episode = one(
        tmp_path,
        licence="MIT",
        trajectory=[{"turn_idx": 0, "action": "a", "observation": "o", "reward": 0.5}],
        qa_pairs=[{"question": "q", "answer": "a", "type": "A", "sub_type": "x", "question_uuid": "u-1"}],
    )
    assert episode.extra == {"source": "BALROG", "success": False, "num_turns": 3, "total_tokens": 0, "licence": "MIT"}
    assert episode.steps[0].extra == {"reward": 0.5}
    assert episode.questions[0].extra == {"sub_type": "x", "question_uuid": "u-1"}
    assert one(tmp_path).questions[0].extra == {}


@pytest.mark.parametrize("observation", ["", None, ...])
def test_a_step_without_observation_keeps_its_place_and_its_action(tmp_path: Path, observation: Any) -> None:
    step = {"turn_idx": 1, "action": "wait", "observation": observation}
    step = {key: value for key, value in step.items() if value is not ...}
    report = ReadReport()
    episode = one(tmp_path, report, trajectory=[{"turn_idx": 0, "action": "a", "observation": "o"}, step])
    assert (episode.steps[1].step, episode.steps[1].action, episode.steps[1].observation) == (1, "wait", "")
    assert not report.warnings


def test_task_turn_numbers_and_questions_may_be_missing(tmp_path: Path) -> None:
    episode = one(tmp_path, task=..., qa_pairs=..., trajectory=[{"action": "a"}, {"action": "b"}])
    assert (episode.task, episode.questions) == ("", ())
    assert [step.step for step in episode.steps] == [0, 1]


@pytest.mark.parametrize(
    ("spelling", "domain"),
    [
        ("embodied_ai", "EMBODIED_AI"),
        ("Embodied AI", "EMBODIED_AI"),
        ("software_engineer", "SOFTWARE"),
        ("Software-Engineering", "SOFTWARE"),
        ("GAME", "Game"),
        ("gaming", "Game"),
        ("games", "Game"),
        ("text2sql", "TEXT2SQL"),
        ("open_world_qa", "OPENWORLD_QA"),
        ("web", "WEB"),
    ],
)
def test_a_domain_gets_the_spelling_of_the_official_file(tmp_path: Path, spelling: str, domain: str) -> None:
    assert one(tmp_path, domain=spelling).domain == domain


def test_an_unknown_domain_is_kept_and_counted(tmp_path: Path) -> None:
    report = ReadReport()
    assert one(tmp_path, report, domain="Robotics").domain == "Robotics"
    assert report.warnings == {"unknown_domains": 1}


@pytest.mark.parametrize(
    ("kind", "capability"),
    [("a", "recall"), ("Recall", "recall"), ("B", "causal"), ("Causal Inference", "causal"), ("UPDATE", "update")],
)
def test_a_question_type_may_be_a_letter_or_a_word(tmp_path: Path, kind: str, capability: str) -> None:
    pair = {"question": "q", "answer": "a", "type": kind}
    assert one(tmp_path, qa_pairs=[pair]).questions[0].capability == capability


def test_texts_that_are_no_strings_become_text_and_are_counted(tmp_path: Path) -> None:
    report = ReadReport()
    episode = one(
        tmp_path,
        report,
        trajectory=[{"turn_idx": 0, "action": {"b": 1, "a": ["é"]}, "observation": 404}],
        qa_pairs=[{"question": "Which year?", "answer": 2022, "type": "A"}],
    )
    assert (episode.steps[0].action, episode.steps[0].observation) == ('{"a": ["é"], "b": 1}', "404")
    assert episode.questions[0].answer == "2022"
    assert report.warnings == {"non_string_texts": 2, "non_string_answers": 1}


def test_a_tool_call_in_an_action_stays_verbatim(tmp_path: Path) -> None:
    episode = one(tmp_path, trajectory=[{"turn_idx": 0, "action": TOOL_CALL, "observation": "ok"}])
    assert episode.steps[0].action == TOOL_CALL


def test_byte_order_mark_line_ends_key_order_and_step_order_leave_the_content_hash_alone(tmp_path: Path) -> None:
    expected = content_hash(one(tmp_path))
    shuffled = dict(reversed(record().items())) | {"trajectory": record()["trajectory"][::-1]}
    path = tmp_path / "windows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(shuffled).encode() + b"\r\n")
    (episode,) = AmaBench().read(str(path), ReadReport())
    assert [step.step for step in episode.steps] == [0, 1, 2]
    assert content_hash(episode) == expected
    assert content_hash(one(tmp_path, task="Lose.")) != expected


TWICE = [{"turn_idx": 4, "action": "a"}, {"turn_idx": 4, "action": "b"}]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episode_id": ...}, "episode_id is None"),
        ({"trajectory": []}, "episode 8: trajectory is missing or empty"),
        ({"trajectory": ["look"]}, "episode 8: trajectory must be a list of objects"),
        ({"trajectory": TWICE}, "episode 8: 2 steps have turn_idx 4"),
        ({"trajectory": [{"turn_idx": "x"}]}, r"episode 8: trajectory\[0\].turn_idx is 'x'"),
        ({"qa_pairs": {}}, "episode 8: qa_pairs must be a list of objects"),
        (
            {"qa_pairs": [{"question": "q", "answer": "a", "type": "Z"}]},
            r"episode 8: qa_pairs\[0\] has the unknown type 'Z'",
        ),
        ({"qa_pairs": [{"question": "q", "type": "A"}]}, r"episode 8: qa_pairs\[0\] has no answer"),
        ({"qa_pairs": [{"answer": "a", "type": "A"}]}, r"episode 8: qa_pairs\[0\] has no question text"),
    ],
)
def test_a_broken_record_is_left_out_by_name_and_the_rest_is_read(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    report = ReadReport()
    episodes = read(tmp_path, record(**({"episode_id": 8, "domain": "?"} | changes)), record(), report=report)
    assert [episode.episode_id for episode in episodes] == ["7"]
    (bad,) = report.bad_records
    assert bad.line == 1
    assert re.match(message, bad.message)
    assert not report.warnings  # what a left-out record would have counted is left out too


def test_a_file_of_broken_records_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none of its 1 records could be read; the first: .*:1: episode 7: trajectory"):
        read(tmp_path, record(trajectory=None))


def test_without_a_path_the_pinned_file_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def download(repo: str, file: str, **options: Any) -> str:
        asked.update(repo=repo, file=file, **options)
        path = tmp_path / "set.jsonl"
        path.write_text(json.dumps(record()), encoding="utf-8")
        return str(path)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert len(list(AmaBench(cache="here").read(None, ReadReport()))) == 1
    assert asked == {
        "repo": "AMA-bench/AMA-Bench",
        "file": "test/open_end_qa_set.jsonl",
        "repo_type": "dataset",
        "revision": HUB_REVISION,
        "cache_dir": "here",
    }


def test_a_failed_download_says_to_pass_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> str:
        raise OSError("no route to host")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fail)
    with pytest.raises(CorpusError, match=r"no route to host.* pass its path"):
        list(AmaBench().read(None, ReadReport()))


@pytest.mark.data
def test_the_real_file_reads_without_a_warning(data_dir: Path) -> None:
    report = ReadReport()
    episodes = list(AmaBench().read(str(data_dir / "ama_bench"), report))
    assert (len(episodes), sum(len(e.steps) for e in episodes), sum(len(e.questions) for e in episodes)) == (
        163,
        12_020,
        1_956,
    )
    assert Counter(q.capability for e in episodes for q in e.questions) == {
        "recall": 658,
        "causal": 467,
        "update": 507,
        "abstraction": 324,
    }
    assert Counter(e.domain for e in episodes) == {
        "TEXT2SQL": 39,
        "SOFTWARE": 28,
        "Game": 25,
        "OPENWORLD_QA": 24,
        "WEB": 24,
        "EMBODIED_AI": 23,
    }
    assert len({e.episode_id for e in episodes}) == 163
    assert all([s.step for s in e.steps] == list(range(len(e.steps))) for e in episodes)
    assert not report.warnings
    assert not report.bad_records
