"""Does every configured model work? One short call each: `strata models check`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from models.embedders import embedder
from models.llm.backends import UnknownBackendError
from models.llm.chat import ChatRequest, Message
from storage.artifacts import Home
from tasks.budget import open_budget
from tasks.meter import metered
from tasks.readers import EXTRACTIVE, model
from tasks.selector_config import TEMPLATES
from tasks.settings import Settings

PROMPT = "Name the colours of the rainbow in order, one word each."
REPLY_TOKENS = 64


def check_models(home: Home, settings: Settings, proposer: str = TEMPLATES) -> dict[str, Any]:
    """Call the answerer, the judge, the proposer and the embedder, those that are configured, and say how it went.

    Trouble with one is an entry whose `error` says what it is; nothing is raised.
    """
    specs = {"answerer": settings.answerer, "judge": settings.judge, "proposer": proposer}
    entries = [_check_chat(home, role, spec) for role, spec in specs.items() if spec not in ("", EXTRACTIVE, TEMPLATES)]
    if settings.answerer == EXTRACTIVE:
        entries.insert(0, {"role": "answerer", "model": EXTRACTIVE, "works": True, "error": ""})
    entries.append(_check_embedder(settings.embedder))
    return {"models": entries, "works": all(entry["works"] for entry in entries)}


def _check_chat(home: Home, role: str, spec: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": role, "model": spec, "works": False, "error": ""}
    try:
        chat = metered(home, open_budget(), "check", model(spec))
        [completion] = chat.complete([ChatRequest((Message("user", PROMPT),), max_tokens=REPLY_TOKENS)])
    except (UnknownBackendError, ImportError, OSError, RuntimeError, ValueError) as error:
        return entry | {"error": f"{type(error).__name__}: {error}"}
    speed = completion.completion_tokens / completion.seconds if completion.seconds else None
    return entry | {
        "works": completion.status == "ok" and bool(completion.text.strip()),
        "error": completion.error or ("" if completion.text.strip() else "the reply is empty"),
        "context_window": chat.context_window,
        "seconds": round(completion.seconds, 3),
        "tokens_per_second": None if speed is None else round(speed, 1),
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "reply": completion.text.strip()[:80],
    }


def _check_embedder(name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": "embedder", "model": name, "works": False, "error": ""}
    try:
        encoder = embedder(name)
        encoder.embed_queries([PROMPT])  # loads the model
        started = time.perf_counter()
        vectors = encoder.embed_queries([PROMPT])
        seconds = time.perf_counter() - started
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        return entry | {"error": f"{type(error).__name__}: {error}"}
    works = bool(np.isclose(np.linalg.norm(vectors[0]), 1.0, atol=1e-3))
    trouble = "" if works else "the vector is not of length 1"
    return entry | {"works": works, "error": trouble, "dimension": encoder.dimension, "seconds": round(seconds, 4)}
