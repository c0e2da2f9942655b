from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.saved_answers import AnswersError, read_answers


def question(dataset: str, episode: str, index: int, text: str = "") -> dict[str, Any]:
    return {
        "question_id": f"{dataset}/{episode}/{index}",
        "dataset": dataset,
        "episode_id": episode,
        "question": text or f"{episode} question {index}?",
        "answer": "yes",
        "capability": "recall",
    }


# Eleven questions: index 10 sorts before index 2 as text.
QUESTIONS = [question("ama_bench", "7", i) for i in range(11)] + [question("ama_bench", "8", 0)]
LOCOMO = [question("locomo", name, i) for name in ("conv-30", "conv-26") for i in range(3)]


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def audit(path: Path, *items: tuple[int, int, str], answer: object = "7 May") -> Path:
    rows = [{"question_id": f"locomo_{c}_qa{i}", "question": text, "generated_answer": answer} for c, i, text in items]
    path.write_text(json.dumps({"detailed_results": {"locomo_exp_user_0": rows}, "accuracy": 0.7}, indent=1))
    return path


def test_json_lines_are_read_and_unanswered_questions_are_reported(tmp_path: Path) -> None:
    rows = [{"question_id": "ama_bench/7/1", "answer": "left"}, {"question_id": "ama_bench/8/0", "answer": None}]
    saved = read_answers(write(tmp_path / "a.jsonl", rows), QUESTIONS)
    assert saved.answers == {"ama_bench/7/1": "left"}
    assert saved.missing == tuple(q["question_id"] for q in QUESTIONS if q["question_id"] != "ama_bench/7/1")


def test_a_parquet_table_is_read(tmp_path: Path) -> None:
    table = pa.table({"answer": ["left", None], "question_id": ["ama_bench/7/1", "ama_bench/8/0"], "score": [1.0, 0.0]})
    pq.write_table(table, tmp_path / "a.parquet")
    saved = read_answers(tmp_path / "a.parquet", QUESTIONS)
    assert saved.answers == {"ama_bench/7/1": "left"}
    assert "ama_bench/8/0" in saved.missing


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    rows = [{"question_id": f"ama_bench/7/{i}", "answer": "é"} for i in range(2)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in rows)
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_answers(tmp_path / "a.jsonl", QUESTIONS).answers == {"ama_bench/7/0": "é", "ama_bench/7/1": "é"}


def test_numbers_become_text_and_unstorable_characters_are_replaced(tmp_path: Path) -> None:
    rows = [{"question_id": "ama_bench/7/0", "answer": 2022}, {"question_id": "ama_bench/7/1", "answer": "a\x00b\ud800"}]
    saved = read_answers(write(tmp_path / "a.jsonl", rows), QUESTIONS)
    assert saved.answers == {"ama_bench/7/0": "2022", "ama_bench/7/1": "a\ufffdb\ufffd"}


def test_a_leaderboard_file_follows_the_order_of_the_questions(tmp_path: Path) -> None:
    rows = [
        {"episode_id": 8, "answer_list": ["up"], "reasoning_trace": "..."},
        {"episode_id": 7, "answer_list": [str(i) for i in range(11)]},
    ]
    saved = read_answers(write(tmp_path / "a.jsonl", rows), list(reversed(QUESTIONS)))
    assert saved.answers == {"ama_bench/8/0": "up", **{f"ama_bench/7/{i}": str(i) for i in range(11)}}
    assert saved.missing == ()


def test_a_leaderboard_list_of_the_wrong_length_names_the_episode(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"episode_id": 7, "answer_list": ["left"]}])
    with pytest.raises(AnswersError, match=r"line 1: episode 7 has 11 questions but 1 answers"):
        read_answers(path, QUESTIONS)


@pytest.mark.parametrize(
    ("questions", "where"),
    [(QUESTIONS[:3], "no ingested data set"), ([question("a", "9", 0), question("b", "9", 0)], "a and b")],
)
def test_a_leaderboard_episode_must_be_in_exactly_one_data_set(tmp_path: Path, questions: Any, where: str) -> None:
    path = write(tmp_path / "a.jsonl", [{"episode_id": "9", "answer_list": ["left"]}])
    with pytest.raises(AnswersError, match=f"episode 9 is in {where}"):
        read_answers(path, questions)


def test_an_unknown_question_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"question_id": f"ama_bench/99/{i}", "answer": "x"} for i in range(7)])
    with pytest.raises(AnswersError, match=r"not among the ingested questions: ama_bench/99/0, .* and 2 more"):
        read_answers(path, QUESTIONS)


def test_a_question_answered_twice_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"question_id": "ama_bench/7/3", "answer": answer} for answer in "xy"])
    with pytest.raises(AnswersError, match="answered twice: ama_bench/7/3"):
        read_answers(path, QUESTIONS)


@pytest.mark.parametrize("tail", [b'{"question_id": "ama_bench/7/1", "ans', b'{"question_id": "\xc3', b"[1]"])
def test_a_damaged_line_is_named(tmp_path: Path, tail: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"question_id": "ama_bench/7/0", "answer": "x"}\n\n' + tail)
    with pytest.raises(AnswersError, match=r"a\.jsonl: line 3 is not a JSON object"):
        read_answers(tmp_path / "a.jsonl", QUESTIONS)


@pytest.mark.parametrize("row", [{"id": 1, "answer": "x"}, {"question_id": "ama_bench/7/0", "answer": ["x"]}])
def test_a_row_of_another_kind_is_refused(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(AnswersError, match="line 1"):
        read_answers(write(tmp_path / "a.jsonl", [row]), QUESTIONS)


def test_a_parquet_file_without_answers_or_that_is_none_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"question_id": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(AnswersError, match="no column 'answer'"):
        read_answers(tmp_path / "a.parquet", QUESTIONS)
    (tmp_path / "b.parquet").write_text("x" * 100)
    with pytest.raises(AnswersError, match="not a Parquet file"):
        read_answers(tmp_path / "b.parquet", QUESTIONS)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AnswersError, match=r"none\.jsonl: no such file"):
        read_answers(tmp_path / "none.jsonl", QUESTIONS)


def test_audit_answers_find_their_conversation_by_its_questions(tmp_path: Path) -> None:
    path = audit(
        tmp_path / "a.json", (0, 0, "conv-26 question 0?"), (0, 2, "conv-26 question 2? "), (1, 1, "conv-30 question 1?")
    )
    saved = read_answers(path, LOCOMO)
    assert saved.answers == {"locomo/conv-26/0": "7 May", "locomo/conv-26/2": "7 May", "locomo/conv-30/1": "7 May"}
    assert saved.missing == ("locomo/conv-30/0", "locomo/conv-30/2", "locomo/conv-26/1")


def test_audit_answers_for_other_questions_are_refused(tmp_path: Path) -> None:
    path = audit(tmp_path / "a.json", (0, 0, "conv-26 question 0?"), (0, 1, "a shifted question?"))
    with pytest.raises(AnswersError, match="conversation 0 fit 0 ingested episodes"):
        read_answers(path, LOCOMO)


def test_audit_items_with_a_strange_or_repeated_id_are_refused(tmp_path: Path) -> None:
    same = (0, 0, "conv-26 question 0?")
    with pytest.raises(AnswersError, match="locomo_0_qa0 is answered twice"):
        read_answers(audit(tmp_path / "a.json", same, same), LOCOMO)
    (tmp_path / "b.json").write_text(json.dumps({"detailed_results": {"u": [{"question_id": "q1"}]}}))
    with pytest.raises(AnswersError, match="'q1' is not like locomo_0_qa12"):
        read_answers(tmp_path / "b.json", LOCOMO)


@pytest.mark.data
def test_the_1540_audited_answers_map_to_the_official_questions(data_dir: Path) -> None:
    conversations = json.loads((data_dir / "locomo" / "locomo10.json").read_text(encoding="utf-8"))
    questions = [
        question("locomo", conversation["sample_id"], i, qa["question"])
        for conversation in reversed(conversations)
        for i, qa in enumerate(conversation["qa"])
    ]
    saved = read_answers(data_dir / "locomo" / "full_context_gpt-4o-mini_answers.json", questions)
    adversarial = {
        f"locomo/{conversation['sample_id']}/{i}"
        for conversation in conversations
        for i, qa in enumerate(conversation["qa"])
        if qa["category"] == 5
    }
    assert len(saved.answers) == 1540
    assert set(saved.missing) == adversarial
    assert saved.answers["locomo/conv-26/0"] == "7 May 2023"
