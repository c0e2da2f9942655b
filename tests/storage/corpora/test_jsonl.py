"""JSON Lines as they come: cut, compressed, with a byte order mark, with line breaks of every kind inside strings."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.corpora.base import CorpusError, ReadReport
from storage.corpora.jsonl import read_records

GOOD = b'{"n": 1}\n{"n": 2}\n'
BREAKS = "\u2028\u2029\u0085\x0b\x0c\x1c\x1d\x1e\r\n"


def values(source: Path | str, report: ReadReport | None = None) -> list[dict[str, Any]]:
    return [record.value for record in read_records(str(source), report or ReadReport())]


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@settings(max_examples=60)
@given(
    st.lists(
        st.dictionaries(st.text(max_size=4), st.text(st.characters(codec="utf-8") | st.sampled_from(BREAKS))), min_size=1
    ),
    st.sampled_from(["a.jsonl", "a.jsonl.gz"]),
)
def test_records_survive_whatever_line_breaks_their_strings_hold(records: list[dict[str, str]], name: str) -> None:
    data = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
    report = ReadReport()
    with tempfile.TemporaryDirectory() as folder:
        assert values(write(Path(folder) / name, data), report) == records
    assert not report.bad_records


def test_a_byte_order_mark_crlf_and_blank_lines_change_nothing(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.jsonl", GOOD)
    windows = write(tmp_path / "b.jsonl", b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n") + b"\r\n  \r\n")
    assert values(windows) == values(plain) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"n": 3, "text": "cut he', "not valid JSON"),
        ('{"n": "é'.encode()[:-1], "not UTF-8 at byte 7"),
        (b"[1, 2]", "JSON list, not an object"),
        (b'{"n": NaN}', "NaN is no JSON number"),
        (b'{"n": 1e999}', "1e999 is too large"),
        (b"[" * 200_000, "nested too deeply"),
    ],
)
def test_a_bad_line_is_reported_with_its_number_and_the_reading_goes_on(tmp_path: Path, line: bytes, reason: str) -> None:
    path = write(tmp_path / "a.jsonl", b'{"n": 1}\n\n' + line + b'\n{"n": 2}\n')
    report = ReadReport()
    assert values(path, report) == [{"n": 1}, {"n": 2}]
    (bad,) = report.bad_records
    assert (bad.file, bad.line) == (str(path), 3)
    assert reason in bad.message


@pytest.mark.parametrize("end", [b'{"n": 3, "te', '{"text": "é'.encode()[:-1]])
def test_a_last_line_cut_in_the_middle_costs_only_itself(tmp_path: Path, end: bytes) -> None:
    report = ReadReport()
    assert values(write(tmp_path / "a.jsonl", GOOD + end), report) == [{"n": 1}, {"n": 2}]
    assert [bad.line for bad in report.bad_records] == [3]


def test_a_cut_gzip_stream_gives_its_whole_lines_and_the_line_of_the_cut(tmp_path: Path) -> None:
    lines = [json.dumps({"n": n, "noise": str(0.1 * n * n)}).encode() + b"\n" for n in range(5_000)]
    data = gzip.compress(b"".join(lines))
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(data[: len(data) // 2])
    report = ReadReport()
    read = values(path, report)
    assert [value["n"] for value in read] == list(range(len(read)))
    assert 1_000 < len(read) < 4_000
    (bad,) = report.bad_records
    assert bad.line == len(read) + 1
    assert "cut or damaged" in bad.message


def test_a_folder_is_read_in_the_order_of_names_and_other_files_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "b.jsonl", b'{"n": 2}')
    write(tmp_path / "c.jsonl.gz", b'{"n": 3}')
    write(tmp_path / "a.jsonl", b'{"n": 1}\nbad\n')
    write(tmp_path / "notes.txt", b"hello")
    report = ReadReport()
    records = list(read_records(str(tmp_path), report))
    assert [record.value["n"] for record in records] == [1, 2, 3]
    assert [record.file for record in records] == [f"{tmp_path}/{name}" for name in ("a.jsonl", "b.jsonl", "c.jsonl.gz")]
    assert str(report.bad_records[0]).startswith(f"{tmp_path}/a.jsonl:2: is not valid JSON")


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_json_document_gives_its_objects(tmp_path: Path, name: str) -> None:
    report = ReadReport()
    assert values(write(tmp_path / name, b'[{"n": 1}, 7, {"n": 2}]'), report) == [{"n": 1}, {"n": 2}]
    assert report.bad_records[0].message == "record 2: is a JSON int, not an object"


def test_any_fsspec_url_is_a_source() -> None:
    with fsspec.open("memory://corpus/a.jsonl", "wb") as file:
        file.write(GOOD)
    assert values("memory://corpus/a.jsonl") == values("memory://corpus") == [{"n": 1}, {"n": 2}]


def test_lone_surrogates_are_read_for_the_sanitiser_to_count(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"escaped": "\\ud800", "raw": "\xed\xa0\x80", "pair": "\\ud83d\\ude00"}')
    assert values(path) == [{"escaped": "\ud800", "raw": "\ud800", "pair": "\U0001f600"}]


@pytest.mark.parametrize(
    ("name", "data", "advice"),
    [
        ("missing.jsonl", None, "does not exist; check the path"),
        ("empty.jsonl", b"", "holds no records; give a file with one JSON object per line"),
        ("blank.jsonl", b"\n\r\n", "holds no records"),
        ("empty.json", b"", "holds no records"),
        ("bad.jsonl", b"{\nx\n", "none of its 2 records could be read; the first: .*bad.jsonl:1: is not valid JSON"),
        ("bad.jsonl.gz", None, "does not exist"),
    ],
)
def test_a_source_without_records_is_an_error_that_says_what_to_do(
    tmp_path: Path, name: str, data: bytes | None, advice: str
) -> None:
    if data is not None:
        write(tmp_path / name, data)
    with pytest.raises(CorpusError, match=f"{name}: {advice}"):
        values(tmp_path / name)


def test_a_folder_without_readable_files_and_an_unknown_protocol_are_errors(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no file named \*\.jsonl or \*\.jsonl\.gz"):
        values(tmp_path)
    with pytest.raises(CorpusError, match="nosuch"):
        values("nosuch://bucket/a.jsonl")


def test_one_line_is_held_at_a_time(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", GOOD + b"bad\n")
    report = ReadReport()
    records = read_records(str(path), report)
    assert next(records).value == {"n": 1}
    assert not report.bad_records  # the rest of the file has not been looked at
    records.close()  # type: ignore[attr-defined]
