"""LoCoMo: turns to steps, repaired evidence, abstention as gold, and nothing of the answers in the memory."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from storage.corpora import locomo
from storage.corpora.base import CorpusError, ReadReport
from storage.corpora.locomo import Locomo, read_audit, resolve_evidence, session_time
from storage.records import ABSTENTION, Episode, content_hash

SESSION_2 = [
    {"speaker": "Ann", "dia_id": "D2:1", "text": "Hi Bo!"},
    {"speaker": "Bo", "dia_id": "D2:2", "text": "Look.", "blip_caption": "a red car", "query": "prius", "re-download": True},
]
SESSION_10 = [{"speaker": "Ann", "dia_id": "D10:1", "text": "Bye.", "img_url": ["https://example.org/a.jpg"]}]


def conversation(**changes: Any) -> dict[str, Any]:
    talk = {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_10_date_time": "12:09 am on 13 September, 2023",
        "session_10": SESSION_10,
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": SESSION_2,
        "session_11_date_time": "1:00 pm on 1 October, 2023",
    }
    base = {"sample_id": "conv-1", "qa": [question()], "conversation": talk, "event_summary": {}, "observation": {}}
    return base | {"session_summary": {}} | changes


def question(**changes: Any) -> dict[str, Any]:
    base = {"question": "When?", "answer": "In May", "evidence": ["D2:1"], "category": 2}
    return {key: value for key, value in (base | changes).items() if value is not ...}


def read(tmp_path: Path, *conversations: dict[str, Any], report: ReadReport | None = None) -> list[Episode]:
    path = tmp_path / "locomo10.json"
    path.write_text(json.dumps(conversations), encoding="utf-8")
    return list(Locomo().read(str(path), report or ReadReport()))


def one(tmp_path: Path, report: ReadReport | None = None, **changes: Any) -> Episode:
    (episode,) = read(tmp_path, conversation(**changes), report=report)
    return episode


def test_turns_become_dated_steps_with_sessions_in_numeric_order(tmp_path: Path) -> None:
    report = ReadReport()
    episode = one(tmp_path, report)
    assert (episode.dataset, episode.episode_id, episode.domain, episode.task_type) == (
        "locomo",
        "conv-1",
        *["conversation"] * 2,
    )
    assert episode.task == "A long-term conversation between Ann and Bo."
    assert [(s.step, s.session, s.ref, s.speaker, s.action, s.observation) for s in episode.steps] == [
        (0, 2, "D2:1", "Ann", "dialogue", "Hi Bo!"),
        (1, 2, "D2:2", "Bo", "dialogue", "Look. [image: a red car]"),
        (2, 10, "D10:1", "Ann", "dialogue", "Bye."),
    ]
    assert [s.timestamp for s in episode.steps[1:]] == [
        datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        datetime(2023, 9, 13, 0, 9, tzinfo=UTC),
    ]
    assert [dict(s.extra) for s in episode.steps] == [{}, {"re-download": True}, {"img_url": ["https://example.org/a.jpg"]}]
    assert report.warnings == {"session_dates_without_turns": 1}


def test_an_image_without_words_is_its_caption_and_texts_stay_verbatim(tmp_path: Path) -> None:
    turns = [
        {"speaker": "Ann", "text": "", "blip_caption": "a dog"},
        {"speaker": "Bo", "text": " Hi\n", "blip_caption": "a cat"},
    ]
    episode = one(tmp_path, conversation={"session_1": turns})
    assert [s.observation for s in episode.steps] == ["[image: a dog]", " Hi\n [image: a cat]"]


def test_the_search_words_of_an_image_are_nowhere_in_the_episode(tmp_path: Path) -> None:
    assert "prius" not in repr(one(tmp_path))


def test_the_order_of_turns_and_keys_leaves_the_content_hash_alone(tmp_path: Path) -> None:
    expected = content_hash(one(tmp_path))
    talk = dict(reversed(conversation()["conversation"].items())) | {"session_2": SESSION_2[::-1]}
    path = tmp_path / "locomo_lines.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(conversation(conversation=talk)).encode() + b"\r\n")
    (episode,) = Locomo().read(str(path), ReadReport())
    assert content_hash(episode) == expected


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:09 am on 13 September, 2023", datetime(2023, 9, 13, 0, 9, tzinfo=UTC)),
        ("12:30 PM on 1 january 2022", datetime(2022, 1, 1, 12, 30, tzinfo=UTC)),
        ("1:56 pm on 31 February, 2023", None),
        ("8 May, 2023", None),
        (None, None),
    ],
)
def test_session_dates_are_read_with_the_hour_after_midnight(text: object, time: datetime | None) -> None:
    assert session_time(text) == time


def test_a_session_without_readable_date_keeps_its_turns(tmp_path: Path) -> None:
    report = ReadReport()
    episode = one(tmp_path, report, conversation={"session_1": [{"speaker": "Cy", "text": "Hm"}, {"speaker": "Di"}]})
    assert [(s.ref, s.timestamp, s.observation) for s in episode.steps] == [("D1:1", None, "Hm"), ("D1:2", None, "")]
    assert episode.task == "A long-term conversation between Cy and Di."
    assert report.warnings["unreadable_session_dates"] == 1


KNOWN = {"D8:6": 0, "D9:17": 1, "D30:5": 2, "D11:26": 3}


@pytest.mark.parametrize(
    ("entries", "refs", "unresolved"),
    [
        (["D8:6; D9:17"], ("D8:6", "D9:17"), ()),
        (["D9:17 D8:6 D30:5"], ("D9:17", "D8:6", "D30:5"), ()),
        (["D30:05"], ("D30:5",), ()),
        (["D:11:26"], ("D11:26",), ()),
        (["D8:6", "D9:17", "D8:6"], ("D8:6", "D9:17"), ()),
        (["D", "D8:6"], ("D8:6",), ("D",)),
        (["D10:19"], (), ("D10:19",)),
        (["D:12:1", "the start"], (), ("D12:1", "the", "start")),
        ([], (), ()),
    ],
)
def test_evidence_is_repaired_and_the_rest_reported(
    entries: list[str], refs: tuple[str, ...], unresolved: tuple[str, ...]
) -> None:
    assert resolve_evidence(entries, KNOWN) == (refs, unresolved)


def test_a_question_with_bad_evidence_is_kept_and_counted(tmp_path: Path) -> None:
    report = ReadReport()
    pairs = [question(evidence=["D2:2; D10:01", "D"]), question(evidence=[]), question(evidence=...)]
    first, *_ = one(tmp_path, report, qa=pairs).questions
    assert (first.evidence_refs, first.evidence_steps, first.unresolved_refs) == (("D2:2", "D10:1"), (1, 2), ("D",))
    assert report.warnings == {
        "session_dates_without_turns": 1,
        "repaired_evidence_refs": 1,
        "unresolved_evidence_refs": 1,
        "questions_without_evidence": 2,
    }


@pytest.mark.parametrize("answer", ["No", ...])
def test_the_gold_of_an_adversarial_question_is_abstention(tmp_path: Path, answer: Any) -> None:
    pair = question(category=5, answer=answer, adversarial_answer="a trophy")
    (found,) = one(tmp_path, qa=[pair]).questions
    assert (found.answer, found.capability) == (ABSTENTION, "adversarial")
    assert found.extra == {"adversarial_answer": "a trophy"} | ({} if answer is ... else {"answer": answer})


def test_a_number_as_gold_answer_becomes_text(tmp_path: Path) -> None:
    report = ReadReport()
    (found,) = one(tmp_path, report, qa=[question(answer=2022)]).questions
    assert found.answer == "2022"
    assert report.warnings["non_string_answers"] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sample_id": None}, "sample_id is None"),
        ({"conversation": []}, "conversation conv-2: the field `conversation` is missing"),
        ({"conversation": {"session_1": []}}, "conversation conv-2: has no session with turns"),
        ({"conversation": {"session_1": ["Hi"]}}, "conversation conv-2: session_1 must be a list of objects"),
        ({"conversation": {"session_2": SESSION_2 * 2}}, "conversation conv-2: 2 turns have the dia_id D2:1"),
        ({"qa": [question(category=6)]}, "conversation conv-2: qa[0] has the unknown category 6"),
        ({"qa": [question(), question(answer=...)]}, "conversation conv-2: qa[1] has no answer"),
        ({"qa": [question(question=" ")]}, "conversation conv-2: qa[0] has no question text"),
    ],
)
def test_a_broken_conversation_is_left_out_by_name(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    report = ReadReport()
    broken = conversation(**({"sample_id": "conv-2"} | changes))
    assert [e.episode_id for e in read(tmp_path, broken, conversation(), report=report)] == ["conv-1"]
    (bad,) = report.bad_records
    assert bad.message.startswith(message)


def test_a_broken_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "locomo10.json"
    path.write_text('[{"sample_id": "conv-1", "qa"', encoding="utf-8")
    with pytest.raises(CorpusError, match=r"locomo10\.json: none of its 1 records could be read.*not valid JSON"):
        list(Locomo().read(str(path), ReadReport()))


def test_a_failed_download_says_to_pass_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locomo, "URL", (tmp_path / "missing.json").as_uri())
    with pytest.raises(CorpusError, match="pass its path"):
        list(Locomo(cache=str(tmp_path)).read(None, ReadReport()))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"question_id": "conv-26/1", "error_type": "AMBIGUOUS"}, "record 0: needs .* has 'AMBIGUOUS' and 'conv-26/1'"),
        ({"question_id": "locomo_0_qa1"}, "record 0: needs `error_type`"),
        (
            {"question_id": "locomo_3_qa1", "error_type": "AMBIGUOUS"},
            "locomo_3_qa1 names conversation 3, but there are only 2",
        ),
        ("x", "record 0: needs"),
    ],
)
def test_a_malformed_audit_record_is_named(tmp_path: Path, record: Any, message: str) -> None:
    path = tmp_path / "audit.json"
    path.write_text(json.dumps([record]), encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        read_audit(str(path), ["conv-26", "conv-30"])


def test_an_audit_that_is_missing_or_no_list_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    with pytest.raises(CorpusError, match="cannot be read"):
        read_audit(str(path), [])
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(CorpusError, match="must be a JSON list"):
        read_audit(str(path), [])


@pytest.fixture(scope="module")
def real(data_dir: Path) -> tuple[list[Episode], ReadReport, list[dict[str, Any]]]:
    report = ReadReport()
    path = data_dir / "locomo" / "locomo10.json"
    return list(Locomo().read(str(path), report)), report, json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.data
def test_the_real_file_gives_the_known_counts(real: tuple[list[Episode], ReadReport, Any]) -> None:
    episodes, report, _ = real
    assert (len(episodes), sum(len(e.steps) for e in episodes), sum(len(e.questions) for e in episodes)) == (
        10,
        5_882,
        1_986,
    )
    assert Counter(q.capability for e in episodes for q in e.questions) == {
        "multi_hop": 282,
        "temporal": 321,
        "open_domain": 96,
        "single_hop": 841,
        "adversarial": 446,
    }
    assert report.warnings == {
        "unresolved_evidence_refs": 3,
        "repaired_evidence_refs": 6,
        "questions_without_evidence": 4,
        "non_string_answers": 6,
        "adversarial_without_answer": 444,
        "session_dates_without_turns": 16,
    }
    assert not report.bad_records
    assert [ref for e in episodes for q in e.questions for ref in q.unresolved_refs] == ["D10:19", "D", "D4:36"]


@pytest.mark.data
def test_real_steps_say_text_and_caption_and_nothing_else(real: tuple[list[Episode], ReadReport, Any]) -> None:
    episodes, _, raw = real
    queries = 0
    for episode, source in zip(episodes, raw, strict=True):
        turns = {t["dia_id"]: t for key, ts in source["conversation"].items() if isinstance(ts, list) for t in ts}
        assert [s.step for s in episode.steps] == list(range(len(turns)))
        assert episode.steps == tuple(sorted(episode.steps, key=lambda s: (s.timestamp, s.step)))  # time never goes back
        for step in episode.steps:
            turn = turns[str(step.ref)]
            caption = f" [image: {turn['blip_caption']}]" if "blip_caption" in turn else ""
            assert step.observation == turn["text"] + caption
            assert step.extra.keys() <= {"img_url", "re-download"}
            queries += "query" in turn
    assert queries == 888


@pytest.mark.data
def test_real_golds_are_text_and_adversarial_ones_abstain(real: tuple[list[Episode], ReadReport, Any]) -> None:
    episodes, _, _ = real
    adversarial = [q for e in episodes for q in e.questions if q.capability == "adversarial"]
    assert {q.answer for q in adversarial} == {ABSTENTION}
    assert all("adversarial_answer" in q.extra for q in adversarial)
    assert Counter(q.extra.get("answer") for q in adversarial) == {None: 444, "No": 2}
    assert [episodes[0].questions[i].answer for i in (1, 26, 40, 49, 72, 75)] == ["2022", "2022", "2", "2022", "2022", "3"]


@pytest.mark.data
def test_the_real_audit_names_99_wrong_golds(real: tuple[list[Episode], ReadReport, Any], data_dir: Path) -> None:
    episodes, _, _ = real
    errors = read_audit(str(data_dir / "locomo" / "audit_errors.json"), [e.episode_id for e in episodes])
    assert len(errors) == 99
    assert Counter(errors.values()) == {
        "HALLUCINATION": 33,
        "TEMPORAL_ERROR": 26,
        "ATTRIBUTION_ERROR": 24,
        "AMBIGUOUS": 13,
        "INCOMPLETE": 3,
    }
    known = {f"locomo/{e.episode_id}/{q.index}" for e in episodes for q in e.questions if q.capability != "adversarial"}
    assert errors.keys() <= known
