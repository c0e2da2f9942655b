"""A GGUF model in this process, through llama.cpp (`xllamacpp`, an optional package).

One sequence at a time: on the machines this is for, two sequences share the same cores. A prompt that begins like the one
before reuses its work, so requests that share their evidence should stand next to each other.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models.llm.chat import ChatRequest, Completion, OnDone
from models.llm.openai_format import UnreadableReplyError, is_context_overflow, read_completion, request_body


@dataclass(frozen=True, slots=True)
class LlamaCppSettings:
    """`threads` 0 means all cores. `context_window` costs memory: about 28 KB a token for a model of 1.5 B parameters."""

    path: str
    context_window: int = 8_192
    threads: int = 0


class LlamaCppChat:
    """A `Chat` in process. The model is loaded by the first call and kept.

    Raises `FileNotFoundError` for a missing file and `ImportError` where the package is missing, both when created.
    """

    def __init__(self, settings: LlamaCppSettings) -> None:
        if not Path(settings.path).is_file():
            raise FileNotFoundError(
                f"no GGUF model at {settings.path}: give the path of a .gguf file, llamacpp:/path/model.gguf"
            )
        _package()
        self._settings = settings
        self._server: Any = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Backend and file name: the folder does not matter to the answers, the window does not either."""
        return f"llamacpp:{Path(self._settings.path).name}"

    @property
    def context_window(self) -> int:
        return self._settings.context_window

    def complete(self, requests: Sequence[ChatRequest], on_done: OnDone | None = None) -> list[Completion]:
        """Answer the requests one after the other. Thread-safe: batches of two threads take turns."""
        completions = []
        for index, request in enumerate(requests):
            with self._lock:
                completion = self._complete_one(request)
            completions.append(completion)
            if on_done is not None:
                on_done(index, completion)
        return completions

    def _complete_one(self, request: ChatRequest) -> Completion:
        if self._server is None:
            self._server = self._load()
        start = time.monotonic()
        try:
            completion = _read(self._server.handle_chat_completions(request_body(request)))
        except (ValueError, RuntimeError) as error:  # llama.cpp raises for a request that it cannot parse
            completion = Completion("", "error", str(error))
        return replace(completion, seconds=time.monotonic() - start)

    def _load(self) -> Any:
        xllamacpp = _package()
        params = xllamacpp.CommonParams()
        params.model.path = self._settings.path
        params.n_ctx = self._settings.context_window
        params.n_parallel = 1
        threads = self._settings.threads or os.cpu_count() or 1
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.verbosity = 0
        params.ui = False
        return xllamacpp.Server(params)


def _read(body: Any) -> Completion:
    refusal = body.get("error") if isinstance(body, dict) else None
    if isinstance(refusal, dict):
        message = str(refusal.get("message", refusal))
        return Completion("", "overflow" if is_context_overflow(message) else "error", message)
    try:
        return read_completion(body)
    except UnreadableReplyError as error:
        return Completion("", "error", str(error))


def _package() -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise ImportError("a GGUF model needs the package xllamacpp: pip install 'strata[llamacpp]'") from error
    return xllamacpp
