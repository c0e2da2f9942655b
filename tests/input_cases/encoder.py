"""An encoder that keeps what it is asked to encode, at the seam where models are chosen by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from models.embedders import Vectors


class RecordingEncoder:
    """Letter counts as vectors. As the real encoders do, it refuses an empty document."""

    name = "minilm"  # it stands in for the default encoder, under the same keys
    dimension = 4

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.queries: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        assert all(text.strip() for text in texts), "an empty text was sent to the encoder"
        self.documents.extend(texts)
        return self._vectors(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.queries.extend(texts)
        return self._vectors(texts)

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        counts = np.array([[text.count(letter) + 1 for letter in "aeio"] for text in texts], dtype=np.float32)
        return np.asarray(counts / np.linalg.norm(counts, axis=1, keepdims=True), dtype=np.float32)


def install_encoder(monkeypatch: pytest.MonkeyPatch) -> RecordingEncoder:
    """Let one recording encoder stand in for whatever encoder the settings name."""
    encoder = RecordingEncoder()
    for module in ("tasks.derivations", "tasks.ask"):
        monkeypatch.setattr(f"{module}.embedder", lambda name: encoder)
    return encoder
