"""Events by rule: one per step, of its own step only, with names and telling words in any script."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from models.embedders import embedder
from models.extract.entities import entities
from models.extract.events import EventsConfig, events
from storage.corpora.base import ReadReport
from storage.corpora.locomo import Locomo
from storage.structures.event_links import LinkConfig, link
from storage.structures.events import RELATIONS, EventGraph
from storage.structures.render import StepRow

MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def turn(text: str, speaker: str | None = "Ann", step: int = 0) -> StepRow:
    return StepRow(step, "dialogue", text, speaker, 1, MAY, "D1:1")


def act(action: str, observation: str, step: int = 0) -> StepRow:
    return StepRow(step, action, observation, None, None, None, None)


def test_a_turn_says_who_said_what_with_the_caption_of_its_image() -> None:
    [event] = events([turn("Look at\nmy dog! [image: a brown  dog]")])
    assert event.content == "In a conversation, Ann said: Look at my dog! [image: a brown dog]"
    assert set(event.entities) >= {"brown", "dog", "look"}
    assert "ann" not in event.entities  # the speaker takes part in every second turn


def test_a_step_is_its_action_and_what_was_observed_cut_to_size() -> None:
    long = act("take key " + "a" * 900, "You hold\nthe key. " + "b" * 5_000)
    [event] = events([long], EventsConfig(max_action_chars=20, max_observation_chars=30))
    action, observation = event.content.split("\n")
    assert action.startswith("take key aaaaaaaaaaa [... ")
    assert observation.startswith("You hold the key. bbbbbbbbbbbb [... ")
    assert {"key", "hold"} <= set(event.entities)


def test_a_passage_stands_after_its_title_which_is_an_entity() -> None:
    row = StepRow(3, "passage: Ed Wood", "He was an American filmmaker.", "Ed Wood", None, None, "Ed Wood")
    [event] = events([row])
    assert (event.step, event.content) == (3, "Ed Wood: He was an American filmmaker.")
    assert event.entities[0] == "ed wood"


@pytest.mark.parametrize("row", [turn("", None), turn(" \n"), act("", ""), act("-", "")])
def test_no_content_is_empty(row: StepRow) -> None:
    [event] = events([row])
    assert event.content.strip()
    assert event.entities == ()


def test_a_new_step_changes_no_event_of_an_old_one() -> None:
    rows = [turn(f"I saw {n} herons at Lake Victoria.", step=n) for n in range(5)]
    assert events(rows[:3]) == events(rows)[:3]
    assert sorted(events(rows[::-1])) == events(rows)


def test_names_come_first_and_equal_things_are_equal_strings() -> None:
    assert entities("The kids saw Mona Lisa of Paris; a kid's hobbies, her hobby.", 9) == (
        "mona lisa of paris", "paris", "hobby", "mona", "lisa", "kid", "saw",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("猫を飼っています", "猫を"),
        ("Я живу в Санкт-Петербурге", "петербурге"),
        ("ذهبت إلى المدرسة", "المدرسة"),
        ("הלכתי לבית הספר", "הספר"),
        ("José García came", "josé garcía"),
        ("मैं दिल्ली गया", "दिल्ली"),
    ],
)
def test_text_in_any_script_has_entities(text: str, found: str) -> None:
    assert found in entities(text, 16)


@pytest.mark.parametrize("text", ["", "🙂 ... !", "Yeah, that's really great!", "I am 5"])
def test_chatter_has_no_entities(text: str) -> None:
    assert [name for name in entities(text, 16) if name.isalnum()] == []


def test_the_number_of_entities_is_limited() -> None:
    assert len(entities(" ".join(f"word{n}" for n in range(100)), 16)) == 16


@pytest.fixture(scope="module")
def conversation(data_dir: Path) -> EventGraph:
    """The shortest LoCoMo conversation as a graph."""
    read = Locomo().read(str(data_dir / "locomo" / "locomo10.json"), ReadReport())
    episode = next(e for e in read if e.episode_id == "conv-30")
    rows = [StepRow(s.step, s.action, s.observation, s.speaker, s.session, s.timestamp, s.ref) for s in episode.steps]
    made = events(rows)
    nodes = EventGraph(
        episode.episode_id,
        steps=np.array([row.step for row in rows]),
        texts=tuple(event.content for event in made),
        contents=tuple(event.content for event in made),
        speakers=tuple(row.speaker or "" for row in rows),
        sessions=np.array([-1 if row.session is None else row.session for row in rows]),
        seconds=np.array([np.nan if row.timestamp is None else row.timestamp.timestamp() for row in rows]),
        entities=tuple(event.entities for event in made),
        refs=tuple(row.ref or "" for row in rows),
        vectors=embedder("minilm").embed_documents([event.content for event in made]),
        source=np.zeros(0, np.int32),
        target=np.zeros(0, np.int32),
        features=np.zeros((0, 4), np.float32),
    )
    return link(nodes, "conversation", LinkConfig())


@pytest.mark.data
def test_a_real_conversation_has_edges_of_every_relation(conversation: EventGraph) -> None:
    per_event = (conversation.features > 0).sum(axis=0) / len(conversation)
    assert len(conversation) == 369
    assert 10 <= len(conversation.source) / len(conversation) <= 13
    low = dict(zip(RELATIONS, (3.0, 5.0, 0.8, 3.0), strict=True))
    high = dict(zip(RELATIONS, (4.0, 6.0, 1.0, 4.0), strict=True))
    for relation, mean in zip(RELATIONS, per_event, strict=True):
        assert low[relation] <= mean <= high[relation], relation


@pytest.mark.data
def test_the_entities_of_a_real_conversation_link_turns_about_the_same_thing(conversation: EventGraph) -> None:
    strong = conversation.features[:, RELATIONS.index("entity")] >= 1
    pairs = zip(conversation.source[strong].tolist(), conversation.target[strong].tolist(), strict=True)
    assert strong.sum() > 100
    assert all(set(conversation.entities[a]) & set(conversation.entities[b]) for a, b in pairs)
