"""Answering questions from evidence: the `Answerer` protocol, and the answerer that asks a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from models.compose import ComposeConfig, Composed, PromptTooLongError, Section, compose
from models.llm.chat import Chat, ChatRequest, Completion, Message
from models.prompts import answer as prompt

AnswerStatus = Literal["ok", "error"]


@dataclass(frozen=True, slots=True)
class AnswerTask:
    """A question with the evidence of the selected structures.

    `localised` is False when no selected structure found anything that matches the question. `conversation` says that the
    episode is a dialogue, whose questions may have no answer in it.
    """

    question_id: str
    question: str
    task: str
    sections: tuple[Section, ...]
    localised: bool = True
    conversation: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply to one task. `text` is empty and `error` holds the reason when the status is `error`.

    `evidence_tokens` counts what was shown, `truncated` what was cut (structure letters and `task`).
    """

    question_id: str
    text: str
    status: AnswerStatus = "ok"
    error: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    evidence_tokens: int = 0
    truncated: tuple[str, ...] = ()
    seconds: float = 0.0


OnAnswer = Callable[[int, Answer], None]


class Answerer(Protocol):
    """Answers questions from their evidence alone."""

    @property
    def name(self) -> str:
        """Identifies model, prompt and settings in tables and cache keys."""
        ...

    def answer(self, tasks: Sequence[AnswerTask], on_done: OnAnswer | None = None) -> list[Answer]:
        """An answer per task, in order; `on_done(index, answer)` is called once for each, as it arrives.

        Trouble with one task is an `Answer` with status `error`, never an exception that loses the others.
        """
        ...


@dataclass(frozen=True, slots=True)
class AnswerConfig:
    """How a language model is asked.

    `abstain` says who is told to answer "No information available" where the evidence holds no answer: the paper's prompt
    has no such words (`never`), AMA-Bench has no such questions, LoCoMo has 446 of them. `shrink` is applied to the window
    up to `max_shrinks` times when the server finds a prompt too long. `batch` bounds the prompts held in memory.
    """

    compose: ComposeConfig = field(default_factory=ComposeConfig)
    abstain: Literal["never", "conversations", "always"] = "conversations"
    shrink: float = 0.75
    max_shrinks: int = 3
    batch: int = 1_024
    seed: int = 0


class ChatAnswerer:
    """Asks any `Chat` with MESA's answer prompt. The window is the smaller one of the model's and the configured."""

    def __init__(self, chat: Chat, config: AnswerConfig | None = None) -> None:
        self._chat = chat
        self._config = config or AnswerConfig()
        window = min(self._config.compose.context_window, chat.context_window)
        self._compose = replace(self._config.compose, context_window=window)

    @property
    def name(self) -> str:
        return f"{self._chat.name}#answer-{prompt.digest()}"

    def answer(self, tasks: Sequence[AnswerTask], on_done: OnAnswer | None = None) -> list[Answer]:
        """See `Answerer`. Tasks that share evidence should stand next to each other: servers reuse a shared prefix."""
        answers: dict[int, Answer] = {}

        def finish(index: int, answer: Answer) -> None:
            answers[index] = answer
            if on_done is not None:
                on_done(index, answer)

        for start in range(0, len(tasks), self._config.batch):
            self._answer_batch(tasks, range(start, min(start + self._config.batch, len(tasks))), finish)
        return [answers[i] for i in range(len(tasks))]

    def _answer_batch(self, tasks: Sequence[AnswerTask], indices: Sequence[int], finish: OnAnswer) -> None:
        """Ask for `indices`, and again with less evidence for those whose prompt is too long."""
        config = self._compose
        too_long: dict[int, Answer] = {}
        for _ in range(self._config.max_shrinks + 1):
            too_long = self._ask(tasks, indices, config, finish)
            if not too_long:
                return
            indices, config = list(too_long), config.shrunk(self._config.shrink)
        for i, answer in too_long.items():
            finish(i, answer)

    def _ask(
        self, tasks: Sequence[AnswerTask], indices: Sequence[int], config: ComposeConfig, finish: OnAnswer
    ) -> dict[int, Answer]:
        """Ask once and finish what is done with; what was too long comes back, as the error it is if nobody asks again."""
        composed: dict[int, Composed] = {}
        for i in indices:
            try:
                composed[i] = self._composed(tasks[i], config)
            except PromptTooLongError as error:
                finish(i, Answer(tasks[i].question_id, "", "error", str(error)))
        asked, too_long = list(composed), dict[int, Answer]()

        def arrived(position: int, completion: Completion) -> None:
            i = asked[position]
            answer = _answer(tasks[i].question_id, composed[i], completion)
            if completion.status == "overflow":
                too_long[i] = answer
            else:
                finish(i, answer)

        self._chat.complete([self._request(composed[i]) for i in asked], arrived)
        return dict(sorted(too_long.items()))

    def _composed(self, task: AnswerTask, config: ComposeConfig) -> Composed:
        abstain = self._config.abstain == "always" or (self._config.abstain == "conversations" and task.conversation)
        return compose(task.question, task.task, task.sections, config, abstain=abstain)

    def _request(self, composed: Composed) -> ChatRequest:
        tokens = self._config.compose.answer_tokens
        return ChatRequest((Message("user", composed.prompt),), max_tokens=tokens, seed=self._config.seed)


def _answer(question_id: str, composed: Composed, completion: Completion) -> Answer:
    """The answer in a completion. A server that reports no prompt tokens is given our own count."""
    ok = completion.status == "ok"
    return Answer(
        question_id=question_id,
        text=prompt.parse(completion.text) if ok else "",
        status="ok" if ok else "error",
        error="" if ok else completion.error or completion.status,
        prompt_tokens=completion.prompt_tokens or (composed.prompt_tokens if ok else 0),
        cached_tokens=completion.cached_tokens,
        completion_tokens=completion.completion_tokens,
        evidence_tokens=composed.evidence_tokens,
        truncated=composed.truncated,
        seconds=completion.seconds,
    )
