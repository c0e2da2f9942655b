"""One more try for a useless reply; a failed request ends the derivation and says what to do."""

from __future__ import annotations

import pytest

from models.extract.replies import DerivationError, Read, ReplyCounts, counts_of, read_replies
from models.llm.chat import ChatRequest, Completion, Message
from tests.models.played import in_order, play

REQUESTS = [ChatRequest((Message("system", "s"), Message("user", text)), seed=3) for text in ("one", "two", "three")]


def number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def test_only_useless_replies_are_asked_for_again() -> None:
    played = play(read_replies(REQUESTS, number, "Digits only.", "toy"), in_order("1", "b", Completion(" "), "2", "c"))
    assert played.result == [Read(1, "1"), Read(2, "2", True), Read(None, "c", True)]
    first, second = played.rounds
    assert first == REQUESTS
    assert [request.messages[-1].content for request in second] == ["two\n\nDigits only.", "three\n\nDigits only."]
    assert {request.seed for request in second} == {4}
    assert counts_of(played.result) == ReplyCounts(requests=3, retried=2, unparsable=1)


def test_the_last_words_are_kept_when_the_second_reply_is_empty() -> None:
    empty = Completion("", "error", "empty reply (finish reason: length)")
    played = play(read_replies(REQUESTS[:1], number, "!", "toy"), in_order("words", empty))
    assert played.result == [Read(None, "words", True)]


def test_a_failed_request_is_no_reply() -> None:
    script = in_order("1", Completion("", "error", "connection reset"), "3")
    with pytest.raises(DerivationError, match=r"toy: 1 of 3 requests failed \(connection reset\); run the command again"):
        play(read_replies(REQUESTS, number, "!", "toy"), script)


def test_a_prompt_that_is_too_long_is_a_matter_of_the_settings() -> None:
    with pytest.raises(DerivationError, match="longer than the model's context window: set smaller sizes for toy"):
        play(read_replies(REQUESTS[:1], number, "!", "toy"), in_order(Completion("", "overflow", "33,000 tokens")))


def test_nothing_to_ask_asks_nobody() -> None:
    assert play(read_replies([], number, "!", "toy"), in_order()).result == []


def test_counts_add_up() -> None:
    assert ReplyCounts(1, 2, 3) + ReplyCounts(requests=1, fallbacks=4) == ReplyCounts(2, 2, 3, fallbacks=4)
