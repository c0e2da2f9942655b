"""An encoder behind an OpenAI-compatible `/embeddings` endpoint, such as vLLM with Qwen3-Embedding.

The SDK retries 408, 409, 429, 5xx, time-outs and broken connections by itself; what is still refused is raised, because a
step without a vector is no step that V could find.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from openai import OpenAI

PREFIX = "openai:"
"""`openai:MODEL` is the hosted service, `openai:MODEL@http://host:port/v1` a server of one's own."""

_NO_KEY = "EMPTY"


@dataclass(frozen=True)
class RemoteSettings:
    """`batch` texts go in one request; each is cut at `max_chars` characters, since servers refuse what their window cannot
    hold (8,192 tokens are about 32,000 characters of English, fewer of other scripts)."""

    model: str
    base_url: str | None = None
    query_instruction: str = ""
    batch: int = 64
    max_chars: int = 16_000
    retries: int = 6
    timeout_s: float = 120.0
    key_variable: str = "OPENAI_API_KEY"


class RemoteEmbedder:
    """Implements `models.embedders.Embedder`. `OSError` names the model and the server when a request stays refused."""

    def __init__(self, settings: RemoteSettings):
        self._settings = settings
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model, without the address: moving a server does not make its vectors new."""
        return PREFIX + self._settings.model

    @cached_property
    def dimension(self) -> int:
        return int(self._request(["dimension"]).shape[1])

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Equal texts are encoded once."""
        for i, text in enumerate(texts):
            if not text.strip():
                raise ValueError(f"text {i} of {len(texts)} is empty: there is nothing to embed")
        heads = [text[: self._settings.max_chars] for text in texts]
        row = {text: i for i, text in enumerate(dict.fromkeys(heads))}
        vectors = [self._request(batch) for batch in _batches(list(row), self._settings.batch)]
        found = np.concatenate(vectors) if vectors else np.zeros((0, self.dimension), np.float32)
        return found[[row[text] for text in heads]]

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        asked = [i for i, text in enumerate(texts) if text.strip()]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        vectors[asked] = self.embed_documents([self._settings.query_instruction + texts[i] for i in asked])
        return vectors

    def _request(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, one row per text."""
        from openai import OpenAIError

        try:
            with self._lock:  # one client, used by the threads of a build in turn
                reply = self._client.embeddings.create(
                    model=self._settings.model, input=list(texts), encoding_format="float"
                )
        except OpenAIError as error:
            raise OSError(f"{self.name} at {self._settings.base_url or 'the hosted service'}: {error}") from error
        rows = sorted(reply.data, key=lambda item: item.index)
        if len(rows) != len(texts):
            raise OSError(f"{self.name} gave {len(rows)} vectors for {len(texts)} texts")
        vectors = np.array([row.embedding for row in rows], dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(vectors).all() or (lengths == 0).any():
            raise OSError(f"{self.name} gave a vector without length")
        return np.asarray(vectors / lengths, dtype=np.float32)

    @cached_property
    def _client(self) -> OpenAI:
        from openai import OpenAI

        settings = self._settings
        key = os.environ.get(settings.key_variable) or _NO_KEY
        return OpenAI(api_key=key, base_url=settings.base_url, max_retries=settings.retries, timeout=settings.timeout_s)


def _batches(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (texts[start : start + size] for start in range(0, len(texts), size))
