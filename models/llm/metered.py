"""A `Chat` that tells what every call cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from models.llm.chat import Chat, ChatRequest, Completion, OnDone


class MeteredChat:
    """Calls `chat` and, as each completion arrives, `on_call` with it: failed calls too."""

    def __init__(self, chat: Chat, on_call: Callable[[Completion], None]) -> None:
        self._chat = chat
        self._on_call = on_call

    @property
    def name(self) -> str:
        return self._chat.name

    @property
    def context_window(self) -> int:
        return self._chat.context_window

    def complete(self, requests: Sequence[ChatRequest], on_done: OnDone | None = None) -> list[Completion]:
        """As the chat's own."""

        def arrived(index: int, completion: Completion) -> None:
            self._on_call(completion)
            if on_done is not None:
                on_done(index, completion)

        return self._chat.complete(requests, arrived)
