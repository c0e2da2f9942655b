"""A spec string names a backend, and a wrong one says how to write it."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from models.llm.backends import UnknownBackendError, chat
from models.llm.llamacpp import LlamaCppChat
from models.llm.openai_compatible import OpenAICompatibleChat

SERVER = "http://127.0.0.1:8000/v1"


def test_a_server_of_ones_own() -> None:
    backend = chat(f"openai:Qwen/Qwen3-32B@{SERVER}")
    assert isinstance(backend, OpenAICompatibleChat)
    assert (backend.name, backend.context_window) == ("openai:Qwen/Qwen3-32B", 32_768)
    assert SERVER in repr(backend)


def test_the_hosted_service_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("SOME_KEY", "sk-x")
    assert chat("openai:gpt-4o-mini?key_env=SOME_KEY").name == "openai:gpt-4o-mini"
    monkeypatch.delenv("SOME_KEY")
    with pytest.raises(ValueError, match="SOME_KEY"):
        chat("openai:gpt-4o-mini?key_env=SOME_KEY")


def test_options_reach_the_settings() -> None:
    backend = chat(f"openai:tiny@{SERVER}?thinking=off&window=4096&parallel=3&timeout=1.5&deadline=9&attempts=2")
    for shown in ("thinking=False", "context_window=4096", "parallel=3", "timeout_s=1.5", "deadline_s=9.0", "attempts=2"):
        assert shown in repr(backend)
    assert backend.name == "openai:tiny?thinking=off"


def test_a_gguf_path(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    path = tmp_path / "tiny.gguf"
    path.touch()
    backend = chat(f"llamacpp:{path}?window=2048&threads=1")
    assert isinstance(backend, LlamaCppChat)
    assert (backend.name, backend.context_window) == ("llamacpp:tiny.gguf", 2_048)


def test_a_missing_gguf_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.gguf"):
        chat(f"llamacpp:{tmp_path}/nothing.gguf")


def test_a_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_xllamacpp(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "xllamacpp":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_xllamacpp)
    path = tmp_path / "tiny.gguf"
    path.touch()
    with pytest.raises(ImportError, match=r"strata\[llamacpp\]"):
        chat(f"llamacpp:{path}")


@pytest.mark.parametrize(
    "spec", ["", "gpt-4o", "openai", "openai:", "ollama:llama3", "llamacpp:", "http://127.0.0.1:8000/v1"]
)
def test_an_unknown_spec_lists_the_forms(spec: str) -> None:
    with pytest.raises(UnknownBackendError, match=r"openai:MODEL@http://host:port/v1, llamacpp:/path/model\.gguf"):
        chat(spec)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("wndow=3", "unknown option 'wndow'.*known are window, parallel"),
        ("window=big", "window='big'"),
        ("window=0", "window='0'"),
        ("thinking=maybe", "thinking='maybe'"),
        ("window", "name=value"),
    ],
)
def test_a_wrong_option_is_named(options: str, said: str) -> None:
    with pytest.raises(UnknownBackendError, match=said):
        chat(f"openai:tiny@{SERVER}?{options}")
