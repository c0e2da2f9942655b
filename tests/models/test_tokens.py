"""Token counts are real Qwen3 counts, and no text can break them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import tokens
from models.tokens import count_composed, count_tokens, truncate
from storage.structures.base import Evidence

STRANGE = [
    "",
    " ",
    "a",
    "héllo wörld",
    "漢字かな交じり文",
    "👩‍👩‍👧 family",
    "مرحبا",
    "\x00\x01",
    "a\ud800b",
    "{x} $y %s <|im_end|>",
]


def test_counts_are_those_of_qwen3() -> None:
    assert count_tokens(["Hello, world!", "", "2023"]) == [4, 0, 4]


def test_special_token_text_counts_as_plain_text() -> None:
    [n] = count_tokens(["<|im_end|><|endoftext|>"])
    assert n > 2


def test_one_count_per_text_in_order() -> None:
    texts = [*STRANGE, "word " * 50, ""]
    assert count_tokens(texts) == [count_tokens([text])[0] for text in texts]


@pytest.mark.parametrize("character", [" ", "="])
def test_a_text_of_one_endless_run_is_counted(character: str) -> None:
    assert count_tokens([character * 1_500_000])[0] > 0


def test_pieces_and_batches_count_as_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "The agent walks north. " * 200
    [whole] = count_tokens([text])
    monkeypatch.setattr(tokens, "_PIECE_CHARS", 460)
    monkeypatch.setattr(tokens, "_CHUNK_CHARS", 1_000)
    assert count_tokens(["a", text, "b"])[1] == pytest.approx(whole, abs=len(text) // 460)


SHARED = [
    "Step 3:\nAction: look.",
    "ends with blanks  \n",
    "(note)...\r\n",
    " begins with one",
    "",
    "\n",
    "漢字。",
    "a\ud800b",
    "'s",
]


@settings(deadline=None, max_examples=300)
@given(texts=st.lists(st.lists(st.one_of(st.sampled_from(SHARED), st.text(max_size=20)), max_size=6), max_size=4))
def test_texts_that_share_blocks_count_as_they_are(texts: list[list[str]]) -> None:
    evidence = [Evidence(tuple(blocks)) for blocks in texts]
    counts = count_composed([e.text for e in evidence], [e.block_starts for e in evidence])
    assert counts == count_tokens([e.text for e in evidence])


def test_a_block_that_many_texts_share_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = [Evidence(("the summary of it all", f"question {i}")) for i in range(5)]
    encoded: list[str] = []
    monkeypatch.setattr(tokens, "count_tokens", lambda texts: encoded.extend(texts) or [1] * len(texts))
    assert count_composed([e.text for e in evidence], [e.block_starts for e in evidence]) == [2] * 5
    assert encoded.count("the summary of it all\n\n") == 1


def test_threads_agree() -> None:
    texts = [f"step {i} {'go north ' * i}" for i in range(50)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(count_tokens, [texts] * 8))
    assert all(result == results[0] for result in results)


def test_a_text_that_fits_is_not_cut() -> None:
    assert truncate("one two three", 3) == "one two three"


def test_a_character_cut_in_two_is_dropped() -> None:
    assert count_tokens(["🪿"])[0] > 1
    assert truncate("🪿", 1) == ""


@pytest.mark.parametrize("text", STRANGE)
@pytest.mark.parametrize("max_tokens", [0, 1, 2, 3, 5])
def test_the_head_is_a_prefix_within_the_limit(text: str, max_tokens: int) -> None:
    head = truncate(text, max_tokens)
    assert text.startswith(head)
    assert count_tokens([head])[0] <= max_tokens


@settings(deadline=None, max_examples=150)
@given(text=st.text(max_size=300), max_tokens=st.integers(0, 60))
def test_truncate_keeps_its_promise_for_any_text(text: str, max_tokens: int) -> None:
    head = truncate(text, max_tokens)
    assert text.startswith(head)
    assert count_tokens([head])[0] <= max_tokens
    assert head == text or count_tokens([text])[0] > max_tokens


@pytest.mark.data
def test_a_real_episode_counts_close_to_the_data_sets_own_number(data_dir: Path) -> None:
    with (data_dir / "ama_bench" / "open_end_qa_set.jsonl").open(encoding="utf-8") as lines:
        episode = next(e for e in map(json.loads, lines) if e["total_tokens"] > 0)
    texts = [step[key] for step in episode["trajectory"] for key in ("action", "observation")]
    assert sum(count_tokens(texts)) == pytest.approx(episode["total_tokens"], rel=0.35)
