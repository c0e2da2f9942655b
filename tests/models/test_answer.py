"""The chat answerer composes, asks, shrinks what is too long, and never loses an item."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.answer import Answer, AnswerConfig, AnswerTask, ChatAnswerer
from models.compose import ComposeConfig
from models.llm.chat import Completion
from models.tokens import count_tokens
from tests.models.scripted_chat import ScriptedChat
from tests.models.test_compose import section, step_blocks

TASK = AnswerTask("toy/e/0", "Where is the key?", "find the key", (section("T", "Step 1:\nthe key is here"),))


def last_question(prompt: str) -> str:
    return prompt.rsplit("Question: ", 1)[1].split("\n")[0]


def test_the_answer_carries_tokens_evidence_and_time() -> None:
    said = Completion("Answer: in the safe", prompt_tokens=70, cached_tokens=32, completion_tokens=4, seconds=0.5)
    [answer] = ChatAnswerer(ScriptedChat(lambda _: said)).answer([TASK])
    assert answer == Answer("toy/e/0", "in the safe", "ok", "", 70, 32, 4, TASK.sections[0].n_tokens, (), 0.5)


def test_the_request_is_one_greedy_user_message() -> None:
    chat = ScriptedChat(lambda _: "x")
    ChatAnswerer(chat, AnswerConfig(seed=7)).answer([TASK])
    [request] = chat.requests
    assert [message.role for message in request.messages] == ["user"]
    assert (request.temperature, request.seed, request.max_tokens) == (0.0, 7, 1_024)


def test_prompt_tokens_that_no_server_counted_are_counted_here() -> None:
    chat = ScriptedChat(lambda _: "x")
    [answer] = ChatAnswerer(chat).answer([TASK])
    [real] = count_tokens(chat.prompts)
    assert real <= answer.prompt_tokens <= real + 60


def test_answers_stand_in_the_order_of_the_tasks_and_are_reported_once_each() -> None:
    tasks = [replace(TASK, question_id=f"q{i}", question=f"number {i}") for i in range(7)]
    seen: list[tuple[int, str]] = []
    answerer = ChatAnswerer(ScriptedChat(last_question), AnswerConfig(batch=3))
    answers = answerer.answer(tasks, lambda i, answer: seen.append((i, answer.text)))
    assert [(a.question_id, a.text) for a in answers] == [(f"q{i}", f"number {i}") for i in range(7)]
    assert sorted(seen) == [(i, f"number {i}") for i in range(7)]


def test_an_overflow_is_asked_again_with_less_evidence() -> None:
    limit = 700

    def small_window(prompt: str) -> Completion | str:
        return "fine" if count_tokens([prompt])[0] <= limit else Completion("", "overflow", "too long")

    config = AnswerConfig(compose=ComposeConfig(context_window=1_600, answer_tokens=100, reserve_tokens=32))
    tasks = [TASK, replace(TASK, question_id="long", sections=(section("R", *step_blocks(90)),))]
    seen: list[int] = []
    short, long = ChatAnswerer(ScriptedChat(small_window), config).answer(tasks, lambda i, _: seen.append(i))
    assert (short.text, short.truncated) == ("fine", ())
    assert (long.text, long.truncated) == ("fine", ("R",))
    assert long.evidence_tokens < limit
    assert sorted(seen) == [0, 1]


def test_what_never_fits_is_an_error_after_the_last_try() -> None:
    chat = ScriptedChat(lambda _: Completion("", "overflow", "too long"))
    seen: list[int] = []
    [answer] = ChatAnswerer(chat, AnswerConfig(max_shrinks=3)).answer([TASK], lambda i, _: seen.append(i))
    assert (answer.status, answer.error, answer.text) == ("error", "too long", "")
    assert len(chat.requests) == 4
    assert seen == [0]


def test_one_failing_item_does_not_lose_the_others() -> None:
    tasks = [replace(TASK, question=text) for text in ("a", "bad", "c")]
    chat = ScriptedChat(lambda p: Completion("", "error", "refused") if last_question(p) == "bad" else "x")
    assert [answer.status for answer in ChatAnswerer(chat).answer(tasks)] == ["ok", "error", "ok"]


def test_a_question_longer_than_the_window_is_an_error_of_that_item() -> None:
    chat = ScriptedChat(lambda _: "x", context_window=2_000)
    bad, good = ChatAnswerer(chat).answer([replace(TASK, question="why " * 3_000), TASK])
    assert (bad.status, good.status) == ("error", "ok")
    assert "shorten the question" in bad.error
    assert len(chat.requests) == 1


def test_the_smaller_window_of_model_and_settings_counts() -> None:
    chat = ScriptedChat(lambda _: "x", context_window=1_500)
    [answer] = ChatAnswerer(chat).answer([replace(TASK, sections=(section("R", *step_blocks(90)),))])
    assert answer.truncated == ("R",)
    assert count_tokens(chat.prompts)[0] <= 1_500 - 1_024


@pytest.mark.parametrize(
    ("abstain", "conversation", "offered"),
    [("conversations", True, True), ("conversations", False, False), ("never", True, False), ("always", False, True)],
)
def test_who_is_offered_to_abstain(abstain: str, conversation: bool, offered: bool) -> None:
    chat = ScriptedChat(lambda _: "x")
    config = AnswerConfig(abstain=abstain)  # type: ignore[arg-type]
    ChatAnswerer(chat, config).answer([replace(TASK, conversation=conversation)])
    assert ("No information available" in chat.prompts[0]) is offered


def test_no_tasks_ask_nothing() -> None:
    chat = ScriptedChat(lambda _: "x")
    assert ChatAnswerer(chat).answer([]) == []
    assert chat.requests == []


def test_the_name_tells_model_and_prompt() -> None:
    assert ChatAnswerer(ScriptedChat(lambda _: "x")).name.startswith("scripted:test#answer-")
