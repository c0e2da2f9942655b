"""OpenAI's chat format, which every server here speaks: request bodies, replies, and the refusal of a long prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.llm.chat import ChatRequest, Completion
from models.llm.storable import storable
from models.llm.thinking import strip_thinking

EMPTY_REPLY = "empty reply"


class UnreadableReplyError(ValueError):
    """A body that is no chat completion. The message says what is wrong with it."""


def request_body(request: ChatRequest) -> dict[str, Any]:
    """The body of a request. Temperature and seed are always sent: a server's own default need not be greedy."""
    body: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
    }
    if request.schema is not None:
        schema = {"name": "reply", "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def read_completion(body: object) -> Completion:
    """The completion in a reply's body; `error` with `EMPTY_REPLY` where nothing is left without think-blocks.

    Raises `UnreadableReplyError` for anything else than a chat completion.
    """
    if not isinstance(body, Mapping):
        raise UnreadableReplyError(f"the server sent {type(body).__name__}, not a chat completion")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise UnreadableReplyError(f"the server sent no choices: {_short(body.get('error') or body)}")
    message = choices[0].get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    text = strip_thinking(storable(content)) if isinstance(content, str) else ""
    finish_reason = str(choices[0].get("finish_reason") or "")
    usage = _mapping(body.get("usage"))
    return Completion(
        text=text,
        status="ok" if text else "error",
        error="" if text else f"{EMPTY_REPLY} (finish reason: {finish_reason or 'none'})",
        prompt_tokens=_count(usage, "prompt_tokens"),
        cached_tokens=_count(_mapping(usage.get("prompt_tokens_details")), "cached_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        finish_reason=finish_reason,
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(usage: Mapping[str, Any], field: str) -> int:
    value = usage.get(field)
    return value if isinstance(value, int) else 0


def _short(value: object) -> str:
    return str(value)[:300]


_OVERFLOW = re.compile(
    r"context[_ ](?:length|size|window)|maximum (?:model|input|context) length|longer than the maximum"
    r"|prompt is too long|too many (?:input )?tokens|inputs?`? tokens \+ `?max_new_tokens",
    re.IGNORECASE,
)
"""What vLLM, OpenAI, llama.cpp, SGLang, TGI and the hosted services say of a prompt that does not fit."""


def is_context_overflow(message: str) -> bool:
    """Whether a server's refusal means that the prompt does not fit the context window."""
    return bool(_OVERFLOW.search(message))
