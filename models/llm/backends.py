"""From a spec string, as it stands in a configuration, to a `Chat`.

    openai:gpt-4o-mini                                        the hosted service, key in OPENAI_API_KEY
    openai:Qwen/Qwen3-32B@http://127.0.0.1:8000/v1            a server of one's own
    openai:Qwen/Qwen3-32B@http://gpu:8000/v1?thinking=off&window=32768&parallel=64
    llamacpp:/models/qwen.gguf?window=8192                    or a file of the hub (`models/llm/gguf.py`)

Options after `?`: `window` (tokens), `parallel`, `timeout` and `deadline` (seconds), `attempts`, `thinking` (on, off) and
`key_env` (the name of the variable that holds the key) for `openai:`; `window` and `threads` for `llamacpp:`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from models.llm.chat import Chat
from models.llm.gguf import gguf_path
from models.llm.llamacpp import LlamaCppChat, LlamaCppSettings
from models.llm.openai_compatible import OpenAICompatibleChat, OpenAISettings
from models.llm.retry import RetryPolicy

FORMS = "openai:MODEL, openai:MODEL@http://host:port/v1, llamacpp:/path/model.gguf, each with options as in ?window=32768"


class UnknownBackendError(ValueError):
    """A spec that names no backend, or an option that it does not have. The message lists what there is."""


def chat(spec: str) -> Chat:
    """The language model that `spec` names. Nothing is loaded or called yet.

    Raises `UnknownBackendError` for a spec it cannot read, and what the backend raises when a key, file or package is
    missing.
    """
    kind, _, rest = spec.partition(":")
    body, _, query = rest.partition("?")
    if kind not in _BACKENDS or not body:
        raise UnknownBackendError(f"{spec!r} names no language model: write {FORMS}")
    return _BACKENDS[kind](body, _options(spec, query))


def _options(spec: str, query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError as error:
        raise UnknownBackendError(f"{spec!r}: options are written as ?name=value&name=value ({error})") from error


def _openai(body: str, options: Mapping[str, str]) -> Chat:
    model, _, base_url = body.partition("@")
    read = _read_options(options, _OPENAI_OPTIONS)
    attempts = read.pop("attempts", None)
    retry = RetryPolicy() if attempts is None else RetryPolicy(attempts=attempts)
    return OpenAICompatibleChat(OpenAISettings(model=model, base_url=base_url or None, retry=retry, **read))


def _llamacpp(body: str, options: Mapping[str, str]) -> Chat:
    return LlamaCppChat(LlamaCppSettings(path=gguf_path(body), **_read_options(options, _LLAMACPP_OPTIONS)))


def _switch(value: str) -> bool:
    return {"on": True, "off": False}[value]


def _positive(value: str) -> int:
    if (number := int(value)) < 1:
        raise ValueError(value)
    return number


_OPENAI_OPTIONS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "window": ("context_window", _positive),
    "parallel": ("parallel", _positive),
    "timeout": ("timeout_s", float),
    "deadline": ("deadline_s", float),
    "attempts": ("attempts", _positive),
    "thinking": ("thinking", _switch),
    "key_env": ("key_variable", str),
}
_LLAMACPP_OPTIONS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "window": ("context_window", _positive),
    "threads": ("threads", _positive),
}
_BACKENDS: Mapping[str, Callable[[str, Mapping[str, str]], Chat]] = {"openai": _openai, "llamacpp": _llamacpp}


def _read_options(options: Mapping[str, str], known: Mapping[str, tuple[str, Callable[[str], Any]]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise UnknownBackendError(f"unknown option {name!r} of a language model: known are {', '.join(known)}")
        field, parse = known[name]
        try:
            read[field] = parse(value)
        except (ValueError, KeyError) as error:
            raise UnknownBackendError(f"option {name}={value!r} of a language model cannot be read") from error
    return read
