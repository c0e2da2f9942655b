"""Sanitising: what is replaced, what must be left alone, and that it stays fast."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.corpora.ama_bench import AmaBench
from storage.corpora.base import ReadReport
from storage.records import Episode, Question, Step, content_hash
from storage.sanitize import SanitizeConfig, sanitize

PNG = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(3_000)
NOISE = random.Random(2).randbytes(3_000)


def episode(observation: str = "seen", **changes: Any) -> Episode:
    steps = (Step(0, "look", observation, extra={"note": "short"}), Step(1, "wait", "nothing new"))
    fields: dict[str, Any] = {"dataset": "d", "episode_id": "e", "task": "t", "task_type": "", "domain": ""}
    fields |= {"steps": steps, "questions": (Question(0, "q?", "a", "recall"),)}
    return Episode(**(fields | changes))


def cleaned(text: str, config: SanitizeConfig | None = None) -> tuple[str, Counter[str]]:
    counts: Counter[str] = Counter()
    return sanitize(episode(text), config or SanitizeConfig(), counts).steps[0].observation, counts


def marker(data: bytes, kind: str) -> str:
    return f"[base64 {kind}, {len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()[:8]}]"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_a_clean_episode_comes_back_as_the_same_object() -> None:
    clean, counts = episode("Grüße, 世界 😀\u2028" + TOOL_CALL), Counter[str]()
    assert sanitize(clean, SanitizeConfig(), counts) is clean
    assert not counts


TOOL_CALL = '{"name": "bash", "arguments": {"cmd": "echo \\"{x}\\""}}'


def test_nul_bytes_and_lone_surrogates_go_and_the_rest_stays() -> None:
    text = json.loads('"a\\u0000b\\u0000 \\ud800 😀 \\udc00\\ud83d\\ude00 é"')
    assert cleaned(text) == ("ab \ufffd 😀 \ufffd😀 é", {"nul_bytes": 2, "lone_surrogates": 2})


def test_every_text_of_an_episode_is_cleaned() -> None:
    bad, counts = "x\0\ud800", Counter[str]()
    question = Question(0, bad, bad, "recall", (bad,), (), (bad,), {"uuid": bad})
    dirty = Episode(bad, bad, bad, bad, bad, (Step(0, bad, bad, bad, None, None, bad, {bad: [{"k": bad}, 1]}),), (question,))
    clean = sanitize(dirty, SanitizeConfig(), counts)
    assert "\\ud800" not in repr(clean)
    assert "\\x00" not in repr(clean)
    assert clean.steps[0].extra == {"x\ufffd": [{"k": "x\ufffd"}, 1]}
    assert counts == {"nul_bytes": 16, "lone_surrogates": 16}
    assert len(content_hash(clean)) == 64


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0" + NOISE, "image/jpeg"),
        (b"GIF89a" + NOISE, "image/gif"),
        (b"RIFF\x00\x10\x00\x00WEBPVP8 " + NOISE, "image/webp"),
        (b"%PDF-1.7\n" + NOISE, "application/pdf"),
        (b"PK\x03\x04" + NOISE, "application/zip"),
        (b"\x89PNG\r\n\x1a\n" + bytes(3_000), "image/png"),  # almost all "A": known by its signature alone
        (NOISE, "data"),
    ],
)
def test_a_base64_run_becomes_a_typed_marker(data: bytes, kind: str) -> None:
    assert cleaned(f'Before "{encoded(data)}" after.') == (f'Before "{marker(data, kind)}" after.', {"base64_blobs": 1})


def test_a_data_uri_is_replaced_whole_even_when_it_is_short() -> None:
    icon = NOISE[:60]
    text = f'<img src="data:image/svg+xml;charset=utf-8;base64,{encoded(icon)}"> <a href="data:image/png;base64,iVBO...">'
    expected = f'<img src="{marker(icon, "image/svg+xml")}"> <a href="data:image/png;base64,iVBO...">'
    assert cleaned(text) == (expected, {"base64_blobs": 1})


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\\n", "\\r\\n"])
def test_a_wrapped_dump_is_one_blob(line_break: str) -> None:
    digits = encoded(PNG)
    wrapped = line_break.join(digits[i : i + 76] for i in range(0, len(digits), 76))
    assert digits.endswith("=")
    text = f"$ base64 shot.png{line_break}{wrapped}{line_break}done"
    assert cleaned(text) == (f"$ base64 shot.png{line_break}{marker(PNG, 'image/png')}{line_break}done", {"base64_blobs": 1})


ORDINARY = {
    "hex": NOISE.hex(),
    "upper-case hex": NOISE.hex().upper(),
    "DNA": "".join(random.Random(3).choices("ACGT", k=3_000)),
    "digits": "".join(random.Random(4).choices("0123456789", k=3_000)),
    "a ruler": "=" * 3_000 + "+" * 3_000 + "/" * 3_000 + "A" * 3_000,
    "words": "".join(random.Random(5).choices(["Memory", "graph", "Route", "Value42", "walk", "of", "Node"], k=800)),
    "a path": "/"
    + "/".join(random.Random(6).choices(["usr", "lib", "Python3", "siteQ", "Xml", "Jz", "k8", "dev", "W"], k=800)),
    "a word list": "\n".join(random.Random(7).choices(["Alpha", "beta", "GAMMA7", "delta", "Zeta"], k=2_000)),
    "Chinese": "记忆结构" * 2_000,
}


@pytest.mark.parametrize("name", ORDINARY)
def test_a_long_run_of_ordinary_text_is_left_alone(name: str) -> None:
    assert cleaned(ORDINARY[name]) == (ORDINARY[name], {})


def test_a_base64_run_below_the_limit_is_left_alone() -> None:
    token = encoded(NOISE)[:999]
    assert cleaned(f"token {token} end") == (f"token {token} end", {})
    assert cleaned(f"token {token}x end")[1] == {"base64_blobs": 1}
    assert cleaned(f"token {token} end", SanitizeConfig(min_base64_chars=999))[1] == {"base64_blobs": 1}


@given(st.integers(min_value=0, max_value=3_000), st.integers(min_value=1_000, max_value=3_000))
def test_a_run_is_found_wherever_it_starts(offset: int, length: int) -> None:
    text, counts = cleaned(" " * offset + encoded(NOISE)[:length] + " end")
    assert counts == {"base64_blobs": 1}
    assert text.startswith(" " * offset + "[base64 data, ")
    assert text.endswith("] end")


def test_an_overlong_observation_keeps_its_head_and_tail() -> None:
    text = "head " + "word " * 1_000_000 + "tail"
    short, counts = cleaned(text)
    assert counts == {"overlong_texts": 1}
    assert len(short) <= 1_000_000
    assert short.startswith("head word")
    assert short.endswith("word tail")
    head, _, rest = short.partition("\n[... ")
    number, _, tail = rest.partition(" characters left out ...]\n")
    assert int(number.replace(",", "")) == len(text) - len(head) - len(tail)
    assert cleaned(short) == (short, {})


def test_only_actions_and_observations_are_cut() -> None:
    long = "word " * 100
    counts: Counter[str] = Counter()
    dirty = episode(long, task=long, questions=(Question(0, long, long, "recall"),))
    clean = sanitize(dirty, SanitizeConfig(max_chars=100), counts)
    assert (clean.task, clean.questions) == (dirty.task, dirty.questions)
    assert len(clean.steps[0].observation) <= 100
    assert clean.steps[1] is dirty.steps[1]
    assert counts == {"overlong_texts": 1}


def test_settings_too_small_to_work_are_refused() -> None:
    with pytest.raises(ValueError, match="max_chars is 50; it must be at least 100"):
        SanitizeConfig(max_chars=50)
    with pytest.raises(ValueError, match="min_base64_chars is 10; it must be at least 60"):
        SanitizeConfig(min_base64_chars=10)


def _hostile() -> Iterator[str]:
    yield ("A" * 999 + " ") * 2_000
    yield ("Ab1" * 20 + "\n") * 30_000
    yield "data:image/png" + ";a=b" * 500_000
    yield "data:" * 400_000
    yield "\\n" * 1_000_000
    yield ("x" * 59 + "\\n") * 30_000
    yield encoded(random.Random(8).randbytes(1_500_000))


@pytest.mark.parametrize("number", range(7))
def test_no_text_makes_it_slow(number: int) -> None:
    text = list(_hostile())[number]
    start = time.perf_counter()
    cleaned(text)
    assert time.perf_counter() - start < 5  # about 2 MB each: well under a second; a quadratic pattern takes minutes


@pytest.mark.data
def test_on_the_real_trajectories_only_real_images_are_replaced(data_dir: Path) -> None:
    counts: Counter[str] = Counter()
    changed = []
    for read in AmaBench().read(str(data_dir / "ama_bench"), ReadReport()):
        clean = sanitize(read, SanitizeConfig(), counts)
        changed += [
            (read.episode_id, old.step, new.observation.count("[base64 image/png, "))
            for old, new in zip(read.steps, clean.steps, strict=True)
            if new is not old and len(new.observation) < len(old.observation.replace("\0", ""))
        ]
    assert counts == {"nul_bytes": 4_899, "base64_blobs": 3, "overlong_texts": 1}
    assert changed == [("64", 17, 2), ("82", 10, 0), ("163", 2, 1)]
