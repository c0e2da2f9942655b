"""Calls that cost tokens: journalled as they arrive, so that nothing is paid for twice, and stopped by the budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from models.answer import Answer, AnswerTask
from models.compose import compose
from models.judge import JudgeItem, Judgement
from models.llm.asking import Asking, run_together
from models.llm.chat import Chat, ChatRequest, Completion
from models.tokens import count_tokens
from storage.artifacts import Home, digest
from storage.journal import Journal
from storage.ledger import Spent
from tasks.budget import budget
from tasks.meter import metered
from tasks.readers import EXTRACTIVE, make_answerer, make_judge, model
from tasks.settings import Settings

T = TypeVar("T")

BATCH = 64
"""Requests between two looks at the token budget."""

JUDGE_TOKENS = 64
"""Tokens of a verdict that a budget reserves; a reasoning judge may use more, and is counted as it does."""


def paid_answers(home: Home, settings: Settings, tasks: Sequence[AnswerTask], budget_id: str) -> list[Answer]:
    """Answers in order. Those of a language model are journalled as they arrive and never asked for twice."""
    answerer = make_answerer(settings, partial(metered, home, budget_id))
    if settings.answerer == EXTRACTIVE:
        return answerer.answer(tasks)
    journal = Journal(home, "answer")
    keys = [digest(["answer", answerer.name, settings.answer, _decides(task)]) for task in tasks]
    found = {key: _answer(value) for key in keys if (value := journal.get(key)) is not None}
    first = {key: i for i, key in reversed(list(enumerate(keys))) if key not in found}  # equal prompts are asked once
    for batch in _batches(sorted(first.values())):
        prompts = sum(_prompt_tokens(tasks[i], settings) for i in batch)
        _check(budget_id, "answer", model(settings.answerer), prompts, len(batch) * settings.compose.answer_tokens)

        def keep(position: int, answer: Answer, batch: Sequence[int] = batch) -> None:
            key = keys[batch[position]]
            found[key] = answer
            if answer.status == "ok":  # an error is asked again next time
                journal.put(key, answer.question_id.rsplit("/", 1)[0], asdict(answer))

        answerer.answer([tasks[i] for i in batch], keep)
    return [replace(found[key], question_id=task.question_id) for key, task in zip(keys, tasks, strict=True)]


def _decides(task: AnswerTask) -> dict[str, Any]:
    """What of a task decides the prompt: not its id, and no empty section."""
    shown = tuple(section for section in task.sections if section.text.strip())
    return asdict(replace(task, question_id="", sections=shown, localised=True))


def _answer(value: dict[str, Any]) -> Answer:
    """A journalled answer; JSON has no tuples."""
    return Answer(**{**value, "truncated": tuple(value["truncated"])})


def _prompt_tokens(task: AnswerTask, settings: Settings) -> int:
    return compose(task.question, task.task, task.sections, settings.compose).prompt_tokens


def _check(budget_id: str, stage: str, chat: Chat, prompt_tokens: int, completion_tokens: int) -> None:
    """Stop before calls that the run's budget has no room for."""
    budget(budget_id).check(Spent(stage, chat.name, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens))


def _batches(indices: Sequence[int]) -> Iterator[Sequence[int]]:
    return (indices[start : start + BATCH] for start in range(0, len(indices), BATCH))


@dataclass(frozen=True)
class Paid(Generic[T]):
    """What askings gave, in order, and the tokens of their completions, whoever paid for them and when."""

    results: list[T]
    tokens: int


def paid_askings(
    home: Home, stage: str, chat: Chat, askings: Sequence[Asking[T]], episodes: Sequence[str], budget_id: str
) -> Paid[T]:
    """The results of askings, which wait for each other's rounds; completions are journalled under `stage` as they arrive.

    Equal requests are paid for once. `episodes` (`dataset/episode`, one per asking) says whose data each was made from.
    """
    journal, counted = Journal(home, stage), metered(home, budget_id, stage, chat)
    tokens = 0

    def complete(requests: Sequence[ChatRequest], owners: Sequence[int]) -> list[Completion]:
        nonlocal tokens
        found = _completions(journal, stage, counted, requests, [episodes[owner] for owner in owners], budget_id)
        tokens += sum(completion.prompt_tokens + completion.completion_tokens for completion in found)
        return found

    results = run_together(askings, complete)
    return Paid(results, tokens)


def _completions(
    journal: Journal,
    stage: str,
    chat: Chat,
    requests: Sequence[ChatRequest],
    episodes: Sequence[str],
    budget_id: str,
) -> list[Completion]:
    keys = [digest([stage, chat.name, asdict(request)]) for request in requests]
    found = {key: Completion(**value) for key in keys if (value := journal.get(key)) is not None}
    first = {key: i for i, key in reversed(list(enumerate(keys))) if key not in found}
    for batch in _batches(sorted(first.values())):
        asked = [requests[i] for i in batch]
        prompts = count_tokens([message.content for request in asked for message in request.messages])
        _check(budget_id, stage, chat, sum(prompts), sum(request.max_tokens for request in asked))

        def keep(position: int, completion: Completion, batch: Sequence[int] = batch) -> None:
            key = keys[batch[position]]
            found[key] = completion
            if completion.status == "ok":
                journal.put(key, episodes[batch[position]], asdict(completion))

        chat.complete(asked, keep)
    return [found[key] for key in keys]


def paid_judgements(home: Home, settings: Settings, items: Sequence[JudgeItem], budget_id: str) -> list[Judgement]:
    """Verdicts in order, journalled as they arrive; a verdict that is in the journal is not paid for again."""
    judge = make_judge(settings, partial(metered, home, budget_id))
    journal = Journal(home, "judge")
    keys = [digest(["judge", judge.name, settings.judging, asdict(item)]) for item in items]
    found = {i: Judgement(**value) for i, key in enumerate(keys) if (value := journal.get(key)) is not None}
    for batch in _batches([i for i in range(len(items)) if i not in found]):
        prompts = sum(len(items[i].prediction + items[i].reference) // 3 for i in batch)
        _check(budget_id, "judge", model(settings.judge), prompts, len(batch) * JUDGE_TOKENS)

        def keep(position: int, judgement: Judgement, batch: Sequence[int] = batch) -> None:
            found[batch[position]] = judgement
            if judgement.verdict != "error":
                journal.put(keys[batch[position]], judgement.question_id.rsplit("/", 1)[0], asdict(judgement))

        judge.judge([items[i] for i in batch], keep)
    return [found[i] for i in range(len(items))]
