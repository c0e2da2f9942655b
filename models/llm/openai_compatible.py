"""Any OpenAI-compatible server over HTTP: vLLM (the reference), llama.cpp's, SGLang, a hosted service.

The SDK's own retries are off. 429, 408, 409, 5xx, time-outs, broken connections and unreadable replies are tried again with
jittered backoff; a prompt that is too long is an `overflow` at once; every other refusal is an `error` at once. The key is
read from the environment when a batch starts, is held by nothing, and is blotted out of every message.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from models.llm.background import arrivals
from models.llm.chat import ChatRequest, Completion, OnDone
from models.llm.openai_format import UnreadableReplyError, is_context_overflow, read_completion, request_body
from models.llm.retry import RetryPolicy, Transient, retry_after_seconds

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

_RETRIED_STATUS = frozenset({408, 409, 429})
_NO_KEY = "EMPTY"
"""What a server without authentication is sent; the SDK insists on a key."""


@dataclass(frozen=True)
class OpenAISettings:
    """`base_url` None means the SDK's own (`OPENAI_BASE_URL`, or the hosted service).

    `parallel` bounds the requests in flight. `timeout_s` is for one attempt, `deadline_s` for a request with all its
    attempts and waits. `thinking` False asks the chat template of a reasoning model to skip the thoughts (vLLM, SGLang);
    None sends nothing, since other servers refuse the field. `key_variable` names the environment variable with the key.
    """

    model: str
    base_url: str | None = None
    context_window: int = 32_768
    parallel: int = 16
    timeout_s: float = 180.0
    deadline_s: float = 900.0
    thinking: bool | None = None
    key_variable: str = "OPENAI_API_KEY"
    retry: RetryPolicy = field(default_factory=RetryPolicy)


class OpenAICompatibleChat:
    """A `Chat` over HTTP. Raises `ValueError` when the hosted service is meant and no key is set."""

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings
        self._key()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings!r})"

    @property
    def name(self) -> str:
        """Backend and model, without the address: moving a server does not make its answers new."""
        thinking = {None: "", True: "?thinking=on", False: "?thinking=off"}[self._settings.thinking]
        return f"openai:{self._settings.model}{thinking}"

    @property
    def context_window(self) -> int:
        return self._settings.context_window

    def complete(self, requests: Sequence[ChatRequest], on_done: OnDone | None = None) -> list[Completion]:
        """Answer every request, at most `parallel` at a time. `on_done` runs in the caller's thread, in order of arrival;
        what it raises stops the requests in flight and reaches the caller."""
        completions: dict[int, Completion] = {}

        async def work(arrived: Callable[[tuple[int, Completion]], None]) -> None:
            await self._complete_all(requests, arrived)

        with closing(arrivals(work)) as arriving:
            for index, completion in arriving:
                completions[index] = completion
                if on_done is not None:
                    on_done(index, completion)
        return [completions[i] for i in range(len(requests))]

    async def _complete_all(
        self, requests: Sequence[ChatRequest], arrived: Callable[[tuple[int, Completion]], None]
    ) -> None:
        from openai import AsyncOpenAI

        settings = self._settings
        pending = iter(enumerate(requests))
        rng = random.Random(os.getpid())  # jitter must differ between processes and nothing else depends on it
        async with AsyncOpenAI(
            api_key=self._key(), base_url=settings.base_url, max_retries=0, timeout=settings.timeout_s
        ) as client:

            async def worker() -> None:
                for index, request in pending:
                    arrived((index, await self._complete_one(client, request, rng)))

            async with asyncio.TaskGroup() as workers:
                for _ in range(min(settings.parallel, len(requests))):
                    workers.create_task(worker())

    async def _complete_one(self, client: AsyncOpenAI, request: ChatRequest, rng: random.Random) -> Completion:
        start = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.deadline_s):
                completion = await self._with_retries(client, request, rng, start + self._settings.deadline_s)
        except TimeoutError:
            completion = Completion("", "error", f"no reply within the deadline of {self._settings.deadline_s:g} s")
        return replace(completion, seconds=time.monotonic() - start)

    async def _with_retries(
        self, client: AsyncOpenAI, request: ChatRequest, rng: random.Random, give_up: float
    ) -> Completion:
        policy, spent, attempt = self._settings.retry, Completion(""), 0
        while True:
            outcome = await self._attempt(client, request)
            if isinstance(outcome, Completion):
                return _with_spent(outcome, spent)
            spent = _with_spent(spent, outcome.spent)
            attempt += 1
            delay = policy.delay(attempt - 1, outcome.retry_after_s, rng)
            if attempt >= min(policy.attempts, outcome.attempts) or time.monotonic() + delay > give_up:
                tries = "1 attempt" if attempt == 1 else f"{attempt} attempts"
                return replace(spent, status="error", error=f"{outcome.reason} (after {tries})")
            await asyncio.sleep(delay)

    async def _attempt(self, client: AsyncOpenAI, request: ChatRequest) -> Completion | Transient:
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        body = {"model": self._settings.model, **request_body(request)}
        try:
            reply = await client.chat.completions.with_raw_response.create(**body, extra_body=self._extra_body())
        except APIStatusError as refusal:
            return self._refused(refusal)
        except APITimeoutError:
            return Transient(f"timed out after {self._settings.timeout_s:g} s")
        except APIConnectionError as error:
            return Transient(self._without_key(f"connection failed: {error.__cause__ or error}"))
        return _read(reply.text)

    def _refused(self, refusal: APIStatusError) -> Completion | Transient:
        message = self._without_key(f"HTTP {refusal.status_code}: {refusal.message}")
        if refusal.status_code < 500 and refusal.status_code != 429 and is_context_overflow(message):
            return Completion("", "overflow", message)
        out_of_money = refusal.code == "insufficient_quota"
        if (refusal.status_code in _RETRIED_STATUS and not out_of_money) or refusal.status_code >= 500:
            return Transient(message, retry_after_seconds(refusal.response.headers.get("retry-after")))
        return Completion("", "error", message)

    def _extra_body(self) -> dict[str, Any] | None:
        if self._settings.thinking is None:
            return None
        return {"chat_template_kwargs": {"enable_thinking": self._settings.thinking}}

    def _key(self) -> str:
        key = os.environ.get(self._settings.key_variable)
        if key:
            return key
        if self._settings.base_url is None and not os.environ.get("OPENAI_BASE_URL"):
            raise ValueError(
                f"openai:{self._settings.model} needs a key: set the environment variable {self._settings.key_variable}, "
                "or name a server, as in openai:MODEL@http://127.0.0.1:8000/v1"
            )
        return _NO_KEY

    def _without_key(self, message: str) -> str:
        key = self._key()
        return message if key == _NO_KEY else message.replace(key, "[key]")


def _read(text: str) -> Completion | Transient:
    try:
        completion = read_completion(json.loads(text))
    except UnreadableReplyError as error:
        return Transient(str(error))
    except json.JSONDecodeError as error:
        return Transient(f"the reply is not JSON: {error}")
    if completion.status == "error":  # greedy decoding would repeat itself, a server under load need not: one more try
        return Transient(completion.error, spent=replace(completion, status="ok"), attempts=2)
    return completion


def _with_spent(completion: Completion, spent: Completion) -> Completion:
    """`completion` with the tokens of an earlier attempt added, since they were paid for."""
    return replace(
        completion,
        prompt_tokens=completion.prompt_tokens + spent.prompt_tokens,
        cached_tokens=completion.cached_tokens + spent.cached_tokens,
        completion_tokens=completion.completion_tokens + spent.completion_tokens,
    )
