r"""Records from JSON Lines files, and the loop that turns records into episodes.

A line ends at a line feed and nowhere else: U+2028, U+0085, `\x0b` and `\x0c` may stand inside a JSON string, so
`str.splitlines` would cut good records. A byte order mark, CRLF and blank lines are accepted. Sources are fsspec URLs.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import IO, Any, NoReturn

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs

from storage.corpora.base import BadRecord, CorpusError, ReadReport
from storage.records import Episode

PATTERNS = ("*.jsonl", "*.jsonl.gz")
"""The files of a folder that are read, unless a corpus says otherwise."""

_BOM = b"\xef\xbb\xbf"
_CUT_STREAM = (EOFError, gzip.BadGzipFile, zlib.error)


class RecordError(ValueError):
    """One record that cannot become an episode. It ends as a `BadRecord`; the message names the episode and the field."""


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object with its place: `line` is 1-based, 0 in a JSON document, which has no line per record."""

    file: str
    line: int
    value: dict[str, Any]


Parse = Callable[[dict[str, Any], Counter[str]], Episode]
"""Makes an episode of one JSON object, counts what it repaired, and raises `RecordError`."""


def read_episodes(source: str, report: ReadReport, parse: Parse, patterns: tuple[str, ...] = PATTERNS) -> Iterator[Episode]:
    """Yield what `parse` makes of each record of `source`. Only the warnings of records that are kept reach the report.

    Raises `CorpusError` when `source` cannot be opened or gives no episode at all.
    """
    known_bad, n_episodes = len(report.bad_records), 0
    for record in read_records(source, report, patterns):
        warnings: Counter[str] = Counter()
        try:
            episode = parse(record.value, warnings)
        except RecordError as error:
            report.bad_records.append(BadRecord(record.file, record.line, str(error)))
            continue
        report.warnings.update(+warnings)  # `+` leaves out what was counted zero times
        n_episodes += 1
        yield episode
    if not n_episodes:
        _nothing_read(source, report.bad_records[known_bad:])


def read_records(source: str, report: ReadReport, patterns: tuple[str, ...] = PATTERNS) -> Iterator[Record]:
    """Yield the JSON objects of a file, or of the files of a folder that match `patterns`, sorted by name.

    `.gz` is decompressed; a `.json` file is one document (a list of objects, or one object) and is read whole; any other
    file is read line by line. What is no JSON object goes to `report.bad_records`.
    Raises `CorpusError` when `source` does not exist, cannot be opened, or holds no record.
    """
    known_bad, n_records = len(report.bad_records), 0
    try:
        for fs, path, name in _files(source, patterns):
            with fs.open(path, "rb") as raw:
                for record in _file_records(raw, name, report):
                    n_records += 1
                    yield record
    except OSError as error:
        raise CorpusError(f"{source}: cannot be read ({error}); check the path and its permissions") from error
    if not n_records:
        _nothing_read(source, report.bad_records[known_bad:])


def as_text(value: object, warnings: Counter[str], counter: str) -> str:
    """The text of a JSON value: null is empty, a list or object is JSON with sorted keys. Counts what was no string."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    warnings[counter] += 1
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if isinstance(value, dict | list) else str(value)


def as_objects(value: object, where: str) -> list[dict[str, Any]]:
    """`value` as a list of JSON objects; null is an empty list. `RecordError` naming `where` when it is anything else."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise RecordError(f"{where} must be a list of objects")
    return value


def unread(value: dict[str, Any], read: Set[str]) -> dict[str, Any]:
    """The fields of a JSON object that a corpus does not read itself; they are kept as `extra`."""
    return {key: item for key, item in value.items() if key not in read}


def _nothing_read(source: str, bad: list[BadRecord]) -> NoReturn:
    if bad:
        raise CorpusError(f"{source}: none of its {len(bad)} records could be read; the first: {bad[0]}")
    raise CorpusError(f"{source}: holds no records; give a file with one JSON object per line")


def _files(source: str, patterns: tuple[str, ...]) -> list[tuple[AbstractFileSystem, str, str]]:
    """File system, path and displayed name of each file of `source`."""
    try:
        fs, path = url_to_fs(source)
    except (ValueError, ImportError) as error:
        raise CorpusError(f"{source}: {error}") from error
    if not fs.exists(path):
        raise CorpusError(f"{source}: does not exist; check the path, or leave it out to download the data set")
    if not fs.isdir(path):
        return [(fs, path, source)]
    names = sorted(entry.rstrip("/").rsplit("/", 1)[-1] for entry in fs.ls(path, detail=False))
    chosen = [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)]
    if not chosen:
        raise CorpusError(
            f"{source}: the folder has no file named {' or '.join(patterns)}; give the path of the file itself"
        )
    return [(fs, f"{path.rstrip('/')}/{name}", f"{source.rstrip('/')}/{name}") for name in chosen]


def _file_records(raw: IO[bytes], name: str, report: ReadReport) -> Iterator[Record]:
    # gzip from the standard library, not fsspec's: a cut stream must raise the same errors everywhere.
    stream = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if name.endswith(".gz") else raw
    reader = _document_records if name.removesuffix(".gz").endswith(".json") else _line_records
    yield from reader(stream, name, report)


def _line_records(stream: IO[bytes] | io.BufferedReader, name: str, report: ReadReport) -> Iterator[Record]:
    line = 0
    while True:
        line += 1
        try:
            data = stream.readline()  # ends at b"\n" only
        except _CUT_STREAM as error:
            report.bad_records.append(BadRecord(name, line, f"the compressed stream is cut or damaged here ({error})"))
            return
        if not data:
            return
        if not data.removeprefix(_BOM).strip():
            continue
        try:
            yield Record(name, line, _object(_parse(data)))
        except RecordError as error:
            report.bad_records.append(BadRecord(name, line, str(error)))


def _document_records(stream: IO[bytes] | io.BufferedReader, name: str, report: ReadReport) -> Iterator[Record]:
    try:
        data = stream.read()
        values = _parse(data) if data.removeprefix(_BOM).strip() else []
    except (RecordError, *_CUT_STREAM) as error:
        report.bad_records.append(BadRecord(name, 0, str(error)))
        return
    for number, value in enumerate(values if isinstance(values, list) else [values], start=1):
        try:
            yield Record(name, 0, _object(value))
        except RecordError as error:
            report.bad_records.append(BadRecord(name, 0, f"record {number}: {error}"))


def _parse(data: bytes) -> Any:
    """The JSON value of `data`. Lone surrogates pass, escaped or not: they are cleaned later, with a count."""
    try:
        text = data.removeprefix(_BOM).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise RecordError(f"is not UTF-8 at byte {error.start} ({error.reason}); the record may be cut") from error
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except ValueError as error:
        raise RecordError(f"is not valid JSON ({error}); the record may be cut") from error
    except RecursionError as error:
        raise RecordError("is nested too deeply to be read as JSON") from error


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RecordError(f"is a JSON {type(value).__name__}, not an object")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large for a number")
    return number
