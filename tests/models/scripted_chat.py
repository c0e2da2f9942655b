"""A `Chat` that plays a script: from a prompt to a completion. Keeps what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from models.llm.chat import ChatRequest, Completion, OnDone


class ScriptedChat:
    def __init__(self, script: Callable[[str], Completion | str], context_window: int = 32_768) -> None:
        self._script = script
        self._window = context_window
        self.requests: list[ChatRequest] = []

    @property
    def name(self) -> str:
        return "scripted:test"

    @property
    def context_window(self) -> int:
        return self._window

    @property
    def prompts(self) -> list[str]:
        return [request.messages[0].content for request in self.requests]

    def complete(self, requests: Sequence[ChatRequest], on_done: OnDone | None = None) -> list[Completion]:
        """Replies arrive in reverse order, as they may from a server; an index is all that ties them to their request."""
        self.requests.extend(requests)
        completions: dict[int, Completion] = {}
        for index in reversed(range(len(requests))):
            said = self._script(requests[index].messages[0].content)
            completions[index] = said if isinstance(said, Completion) else Completion(said)
            if on_done is not None:
                on_done(index, completions[index])
        return [completions[i] for i in range(len(requests))]
