"""Judging answers with a language model: a binary verdict, and never a guess where the judge gave none.

AMA-Bench's harness falls back to a token F1 when the reply holds no yes or no, and its forks look for the substring "yes".
Neither is done here: such a reply is a `parse_error`, which no objective, statistic or reward counts as a wrong answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from models.llm.chat import Chat, ChatRequest, Completion, Message
from models.llm.thinking import strip_thinking
from models.prompts import judge as prompt

Verdict = Literal["correct", "incorrect", "parse_error", "error"]

_YES_NO = re.compile(r"(?<![^\W_])(yes|no)(?![^\W_])", re.IGNORECASE)
"""A whole word; `_` may stand beside it, as in the emphasis `__yes__`."""


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """`max_tokens` leaves a reasoning model room to think (AMA-Bench's harness: 2,048).

    `examples` shows a few judged answers first and `constrained` allows nothing but yes or no: for small models. Neither is
    the paper's prompt, so the judge's name says so in every table.
    """

    max_tokens: int = 2_048
    seed: int = 0
    examples: bool = False
    constrained: bool = False


@dataclass(frozen=True, slots=True)
class JudgeItem:
    """One answer to judge. `context` is what the judge may know of the episode, such as its task."""

    question_id: str
    question: str
    reference: str
    prediction: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with the reply it was read from; `reply` is the reason when the verdict is `error`."""

    question_id: str
    verdict: Verdict
    reply: str
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


OnJudged = Callable[[int, Judgement], None]


def parse_verdict(reply: str) -> Verdict:
    """The last whole word "yes" or "no" outside think-blocks decides; neither is a `parse_error`."""
    words = _YES_NO.findall(strip_thinking(reply))
    if not words:
        return "parse_error"
    return "correct" if words[-1].lower() == "yes" else "incorrect"


class ChatJudge:
    """Judges with any `Chat`. Trouble with one item is a verdict, never an exception that loses the others."""

    def __init__(self, chat: Chat, config: JudgeConfig = JudgeConfig()) -> None:
        self._chat = chat
        self._config = config

    @property
    def name(self) -> str:
        """The judge in tables and cache keys: the model and the prompt's digest."""
        style = ("-examples" if self._config.examples else "") + ("-constrained" if self._config.constrained else "")
        return f"{self._chat.name}#judge{style}-{prompt.digest(self._config.examples)}"

    def judge(self, items: Sequence[JudgeItem], on_done: OnJudged | None = None) -> list[Judgement]:
        """A judgement per item, in order; `on_done(index, judgement)` is called as each arrives."""

        def arrived(index: int, completion: Completion) -> None:
            if on_done is not None:
                on_done(index, _judgement(items[index], completion))

        completions = self._chat.complete([self._request(item) for item in items], arrived)
        return [_judgement(item, completion) for item, completion in zip(items, completions, strict=True)]

    def _request(self, item: JudgeItem) -> ChatRequest:
        config = self._config
        text = prompt.render(item.question, item.reference, item.prediction, item.context, config.examples)
        schema = prompt.SCHEMA if config.constrained else None
        return ChatRequest((Message("user", text),), config.max_tokens, seed=config.seed, schema=schema)


def _judgement(item: JudgeItem, completion: Completion) -> Judgement:
    ok = completion.status == "ok"
    return Judgement(
        question_id=item.question_id,
        verdict=parse_verdict(completion.text) if ok else "error",
        reply=completion.text if ok else completion.error or completion.status,
        prompt_tokens=completion.prompt_tokens,
        cached_tokens=completion.cached_tokens,
        completion_tokens=completion.completion_tokens,
        seconds=completion.seconds,
    )
