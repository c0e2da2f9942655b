"""GGUF files by path, by environment variable, and from the hub with a checksum."""

from __future__ import annotations

import hashlib
from pathlib import Path

import huggingface_hub
import pytest

from models.llm.gguf import gguf_path


def test_a_path_stays_and_variables_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_GGUF", "/models/a.gguf")
    assert gguf_path("${STRATA_GGUF}") == gguf_path("/models/a.gguf") == "/models/a.gguf"


def test_a_hub_file_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The download itself cannot run here; what follows it does."""
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF" * 1_000)
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda repo, name: asked.append((repo, name)) or str(file))
    right = hashlib.sha256(file.read_bytes()).hexdigest()
    assert gguf_path(f"hf:owner/repo/m.gguf@{right}") == str(file)
    assert asked == [("owner/repo", "m.gguf")]
    with pytest.raises(ValueError, match="it is another file"):
        gguf_path(f"hf:owner/repo/m.gguf@{'0' * 64}")


@pytest.mark.parametrize("text", ["hf:owner/repo/m.gguf", "hf:m.gguf@" + "0" * 64, "hf:owner/repo/m.bin@" + "0" * 64])
def test_a_hub_file_needs_a_checksum(text: str) -> None:
    with pytest.raises(ValueError, match="SHA256"):
        gguf_path(text)
