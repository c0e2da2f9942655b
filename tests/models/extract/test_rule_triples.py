"""Triples by rule: actions, observations, speech, dates, limits."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from models.extract.dates import resolve_dates
from models.extract.rule_triples import RuleTriplesConfig, rule_triples
from storage.structures.render import StepRow

SAID = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)  # a Monday
Parts = tuple[object, object, object]


def act(step: int, action: str, observation: str = "") -> StepRow:
    return StepRow(step, action, observation, None, None, None, None)


def say(step: int, speaker: str, text: str) -> StepRow:
    return StepRow(step, "dialogue", text, speaker, 1, SAID, f"D1:{step}")


def parts(rows: list[StepRow], config: RuleTriplesConfig | None = None) -> list[Parts]:
    return [(row["head"], row["relation"], row["tail"]) for row in rule_triples(rows, config)]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("go to cabinet 1", ("agent", "go to", "cabinet 1")),
        ("take soapbar 1 from sinkbasin 1", ("soapbar 1", "take from", "sinkbasin 1")),
        ("up", ("agent", "does", "up")),
        ("((0,0), (0,1))", ("agent", "does", "((0,0), (0,1))")),
        ("click [96] where [96] is link 'Home'", ("[96]", "is", "link 'Home'")),
        ("execute_bash: ls -la", ("agent", "execute_bash", "ls -la")),
        ('edit: {"command": "view", "path": "/a/b.py"}', ("agent", "edit view", "/a/b.py")),
        ('fetch({"url": "https://example.org/x?y=1"})', ("agent", "fetch", "https://example.org/x?y=1")),
        ("sql: SELECT name FROM bank.accounts WHERE id = 3", ("agent", "queries table", "bank.accounts")),
        ("execute_bash: cat /srv/app/config.yaml", ("agent", "uses file", "/srv/app/config.yaml")),
    ],
)
def test_an_action_says_what_the_agent_did(action: str, expected: Parts) -> None:
    assert expected in parts([act(3, action)])


@pytest.mark.parametrize(
    ("observation", "expected"),
    [
        ("Score: 6", ("Score", "is", "6")),
        ("On the sinkbasin 1, you see a soapbar 1.", ("sinkbasin 1", "contains", "a soapbar 1")),
        ("You pick up the soapbar 1 from the sinkbasin 1.", ("soapbar 1", "pick up from", "sinkbasin 1")),
        ("- cow 3 steps to your north", ("cow", "is at", "3 steps to your north")),
        ("The safe 1 is closed.", ("safe 1", "is", "closed")),
        ("{'board': [[0, 2], [4, 0]], 'highest_tile': 4}", ("board", "is", "[[0, 2], [4, 0]]")),
        ("[31] button 'Save' focused: True", ("[31]", "button", "'Save' focused: True")),
        ("src/card.py:88: value = 3", ("src/card.py", "line 88", "value = 3")),
        ("KeyError: 'token'", ("lamp 1", "error", "KeyError: 'token'")),
        ("def parse_card(text):", ("lamp 1", "defines def", "parse_card")),
        ("房间里有一只猫。", ("lamp 1", "shows", "房间里有一只猫。")),
        ("القط ينام على السرير", ("lamp 1", "shows", "القط ينام على السرير")),
    ],
)
def test_an_observation_says_what_was_seen(observation: str, expected: Parts) -> None:
    assert expected in parts([act(3, "examine lamp 1", observation)])


def test_triples_are_anchored_at_their_steps() -> None:
    found = rule_triples([act(4, "go to desk 1", "Score: 1"), act(9, "go to desk 2", "Score: 2")])
    assert [(row["step"], row["tail"]) for row in found] == [(4, "desk 1"), (4, "1"), (9, "desk 2"), (9, "2")]


def test_a_state_is_recorded_when_it_changes_and_an_action_each_time() -> None:
    rows = [act(i, "wait here", f"Score: {score}") for i, score in enumerate((1, 1, 2, 1))]
    found = rule_triples(rows)
    assert [row["step"] for row in found if row["head"] == "Score"] == [0, 2, 3]
    assert [row["step"] for row in found if row["head"] == "agent"] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went to a support group yesterday.", ("Caroline", "went to", "a support group yesterday")),
        ("I've been running a shop in Lisbon!", ("Caroline", "have been running", "a shop in Lisbon")),
        ("My dog is called Pixie.", ("Caroline's dog", "is called", "Pixie")),
        ("Last Friday we visited the old museum", ("Caroline", "visited", "the old museum")),
        ("I'm keen on art because it calms me.", ("Caroline", "am keen on", "art")),
        ("You told me about the well", ("Melanie", "told", "me about the well")),
        ("Such a lovely, colourful sunset", ("Caroline", "said", "Such a lovely, colourful sunset")),
        ("我昨天买了一只猫。", ("Caroline", "said", "我昨天买了一只猫。")),
        ("🎉 גור כלבים חדש", ("Caroline", "said", "🎉 גור כלבים חדש")),
    ],
)
def test_speech_is_about_its_speaker(text: str, expected: Parts) -> None:
    assert expected in parts([say(0, "Caroline", text), say(1, "Melanie", "ok")])


def test_a_relative_date_in_speech_is_resolved_against_the_session() -> None:
    found = parts([say(0, "Caroline", "I ran a race last Friday.")])
    assert ("a race last Friday", "when (last Friday)", "05 May 2023") in found


@pytest.mark.parametrize(
    ("phrase", "date"),
    [
        ("yesterday", "07 May 2023"),
        ("Tonight", "08 May 2023"),
        ("tomorrow", "09 May 2023"),
        ("last Friday", "05 May 2023"),
        ("last Monday", "01 May 2023"),
        ("this Friday", "12 May 2023"),
        ("next Monday", "15 May 2023"),
        ("last week", "the week of 01 May 2023"),
        ("next weekend", "the weekend of 20 May 2023"),
        ("two weeks ago", "the week of 24 April 2023"),
        ("3 days ago", "05 May 2023"),
        ("last month", "April 2023"),
        ("five months ago", "December 2022"),
        ("next month", "June 2023"),
        ("a year ago", "2022"),
        ("next year", "2024"),
    ],
)
def test_relative_dates(phrase: str, date: str) -> None:
    assert list(resolve_dates(f"We met {phrase}, I think.", SAID)) == [(phrase, date)]


def test_no_step_and_no_episode_has_more_triples_than_allowed() -> None:
    config = RuleTriplesConfig(max_per_step=5, max_per_episode=23)
    rows = [act(i, f"look at shelf {i}", "\n".join(f"thing{i}x{j}: {j}" for j in range(50))) for i in range(10)]
    found = rule_triples(rows, config)
    assert len(found) == 23
    assert max(sum(row["step"] == i for row in found) for i in range(10)) == 5


def test_parts_are_cut_with_a_mark() -> None:
    (found,) = parts([act(0, "say " + "word " * 500)])
    assert len(str(found[2])) <= RuleTriplesConfig().max_part_chars
    assert str(found[2]).endswith("…")


def test_odd_actions_are_kept_and_harm_nothing() -> None:
    deep = 'call: {"a": ' * 3_000
    rows = [act(0, ""), act(1, "-"), act(2, "{x}"), act(3, deep), act(4, 'run: {"a": null, "b": {}}'), act(5, "f: {broken")]
    assert {row["step"] for row in rule_triples(rows)} >= {2, 3, 4, 5}
    assert rule_triples([]) == []


@pytest.mark.parametrize("text", ["a", "/a", "[", "'k': ", "my ", "I am ", "x: ", ". ", "select from ", "n't", "中文", "\n"])
def test_five_megabytes_of_anything_are_read_in_bounded_time(text: str) -> None:
    huge = text * (5_000_000 // len(text))
    started = time.perf_counter()
    rule_triples([act(0, "look", huge), act(1, huge, "ok"), say(2, "Ann", huge)])
    assert time.perf_counter() - started < 5
