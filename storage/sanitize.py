"""Clean the texts of an episode before they are stored, embedded or sent to a model.

    'src="data:image/png;base64,iVBORw0KGgo...QmCC"'  ->  'src="[base64 image/png, 34,120 bytes, sha256 1a2b3c4d]"'

NUL bytes go, lone surrogates become U+FFFD, base64 data becomes a short typed marker, and an over-long action or
observation keeps its head and its tail. Everything else stays as it is: a clean episode comes back as the same object.
Clean before `records.content_hash`, which cannot encode a lone surrogate.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, TypeVar

from storage.records import Episode, Question, Step

_Record = TypeVar("_Record", Episode, Step, Question)

_CUT_FIELDS = {"action", "observation"}
_MIN_LINE = 60
"""Shortest full line of a wrapped base64 dump (76 by `base64`, 64 in PEM files)."""

_SURROGATE = re.compile("[\ud800-\udfff]")

# Every repetition below is possessive or bounded, and a run is tried only where it starts, so the time stays linear.
# A dump's last, shorter line belongs to it only where `=` proves that; otherwise it may be ordinary text.
_B64 = "[A-Za-z0-9+/]"
_BREAK = r"(?:\r?\n|(?:\\r)?\\n)"  # a line break, or the escape of one inside quoted text
_WRAPPED = rf"(?:{_BREAK}{_B64}{{{_MIN_LINE},}}+)*+(?:{_BREAK}{_B64}{{1,75}}+(?==))?={{0,2}}"
_DATA_URI = re.compile(
    rf"data:(?P<type>[\w.+-]{{1,64}}/[\w.+-]{{1,64}})(?:;[\w.+-]{{1,64}}=[\w.+-]{{1,64}})*+;base64,"
    rf"(?P<body>{_B64}{{{_MIN_LINE},}}+{_WRAPPED})"
)
_RUN_START = r"(?:(?<![A-Za-z0-9+/\\])|(?<=\\[nrt]))"
_RUN = re.compile(rf"{_RUN_START}(?P<body>{_B64}{{{_MIN_LINE},}}+{_WRAPPED})")
_BREAKS = re.compile(_BREAK)

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
)


@dataclass(frozen=True)
class SanitizeConfig:
    """`max_chars`: the longest action or observation, marker included. `min_base64_chars`: the shortest run that counts.

    A data URI counts from 60 characters on, whatever `min_base64_chars` says.
    """

    max_chars: int = 1_000_000
    min_base64_chars: int = 1_000

    def __post_init__(self) -> None:
        if self.max_chars < 100:
            raise ValueError(f"sanitize.max_chars is {self.max_chars}; it must be at least 100 to hold the marker")
        if self.min_base64_chars < _MIN_LINE:
            raise ValueError(f"sanitize.min_base64_chars is {self.min_base64_chars}; it must be at least {_MIN_LINE}")


def sanitize(episode: Episode, config: SanitizeConfig, counts: Counter[str]) -> Episode:
    """The episode with every text clean, also those inside `extra`; the same object when nothing had to change.

    Adds to `counts`: `nul_bytes` and `lone_surrogates` (characters), `base64_blobs` (runs), `overlong_texts` (texts).
    """
    return _clean_record(episode, config, counts)


def _clean_record(record: _Record, config: SanitizeConfig, counts: Counter[str]) -> _Record:
    changes = {}
    for field in fields(record):
        old = getattr(record, field.name)
        new = _clean(old, config, counts)
        if field.name in _CUT_FIELDS:
            new = _cut(new, config.max_chars, counts)
        if new is not old:
            changes[field.name] = new
    return replace(record, **changes) if changes else record


def _clean(value: Any, config: SanitizeConfig, counts: Counter[str]) -> Any:
    """`value` with all its texts clean; the same object when they were."""
    if isinstance(value, str):
        return _clean_text(value, config, counts)
    if isinstance(value, Step):
        return _clean_record(value, config, counts)
    if isinstance(value, Question):
        return _clean_record(value, config, counts)
    if isinstance(value, tuple | list):
        items = [_clean(item, config, counts) for item in value]
        return value if _same(items, value) else type(value)(items)
    if isinstance(value, Mapping):
        pairs = [(_clean(key, config, counts), _clean(item, config, counts)) for key, item in value.items()]
        same = _same([key for key, _ in pairs], value.keys()) and _same([item for _, item in pairs], value.values())
        return value if same else dict(pairs)
    return value


def _same(new: Iterable[Any], old: Iterable[Any]) -> bool:
    return all(a is b for a, b in zip(new, old, strict=True))


def _clean_text(text: str, config: SanitizeConfig, counts: Counter[str]) -> str:
    if "\0" in text:
        counts["nul_bytes"] += text.count("\0")
        text = text.replace("\0", "")
    if not text.isascii() and not _encodes(text):
        text, n = _SURROGATE.subn("\ufffd", text)
        counts["lone_surrogates"] += n
    if ";base64," in text:
        text, n = _DATA_URI.subn(lambda match: _marker(match["body"], match["type"]), text)
        counts["base64_blobs"] += n
    if _may_hold_run(text, config.min_base64_chars // 2):
        text = _without_runs(text, config.min_base64_chars, counts)
    return text


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _may_hold_run(text: str, block: int) -> bool:
    """Whether a run of twice `block` base64 characters is possible: it would fill one of the blocks that are tried here.

    Ordinary text fails at the first space of each block, which makes this cost a few look-ups per thousand characters.
    """
    pattern = _block_pattern(block)
    return any(pattern.match(text, start) for start in range(0, len(text) - block + 1, block))


@lru_cache(maxsize=8)
def _block_pattern(block: int) -> re.Pattern[str]:
    return re.compile(rf"[A-Za-z0-9+/\r\n\\]{{{block}}}")


def _without_runs(text: str, min_chars: int, counts: Counter[str]) -> str:
    def replaced(match: re.Match[str]) -> str:
        run = _BREAKS.sub("", match["body"])
        if len(run) < min_chars or not _is_base64(run):
            return match[0]
        counts["base64_blobs"] += 1
        return _marker(run, "data")

    return _RUN.sub(replaced, text)


def _is_base64(run: str) -> bool:
    """Whether a long run is encoded data, not a hex dump, a DNA sequence, a path or words written together.

    Encoded data starts with a known signature, or it uses most of the 64 characters and has far more capitals than any
    text (random bytes: 41 % capitals, 41 % small letters, 16 % digits).
    """
    if _media_type(_decoded(run[:64])) is not None:
        return True
    counts = Counter(run)
    capitals, small, digits = (
        sum(n for c, n in counts.items() if test(c)) for test in (str.isupper, str.islower, str.isdigit)
    )
    return len(counts) >= 40 and capitals >= 0.2 * len(run) and small >= 0.05 * len(run) and digits >= 0.01 * len(run)


def _decoded(run: str) -> bytes:
    digits = run.rstrip("=")
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]  # one digit over holds no whole byte: the run was cut
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def _media_type(data: bytes) -> str | None:
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in _MAGIC if data.startswith(magic)), None)


def _marker(body: str, declared: str) -> str:
    data = _decoded(_BREAKS.sub("", body))
    digest = hashlib.sha256(data).hexdigest()[:8]
    return f"[base64 {_media_type(data) or declared}, {len(data):,} bytes, sha256 {digest}]"


def _cut(text: str, max_chars: int, counts: Counter[str]) -> str:
    """At most `max_chars` characters: the first half and the last half around a marker that says how many are missing."""
    if len(text) <= max_chars:
        return text
    counts["overlong_texts"] += 1
    kept = max_chars - len(_left_out(len(text)))
    return text[: kept - kept // 2] + _left_out(len(text) - kept) + text[len(text) - kept // 2 :]


def _left_out(n: int) -> str:
    return f"\n[... {n:,} characters left out ...]\n"
