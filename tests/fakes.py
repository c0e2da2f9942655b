"""Small stand-ins at the seams: episodes made by hand, and a token counter without a tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

from storage.records import Episode, Question, Step


def count_words(texts: Sequence[str]) -> list[int]:
    """A token is a word."""
    return [len(text.split()) for text in texts]


def make_episode(episode_id: str = "e0", n_steps: int = 4, note: str = "", dataset: str = "toy") -> Episode:
    """An episode of `n_steps` steps, each with its own object, and two questions; `note` changes its content."""
    things = ("apple", "basin", "candle", "drawer", "engine", "fork", "globe", "hammer")
    steps = tuple(
        Step(i, f"take {things[i % 8]} {i}", f"You hold the {things[i % 8]} {i}. {note}".strip()) for i in range(n_steps)
    )
    questions = (
        Question(0, "At step 1, what did the agent take?", "basin 1", "recall", ("1",), (1,)),
        Question(1, "When was the candle taken?", "step 2", "update", ("2",), (2,)),
    )
    return Episode(dataset, episode_id, "tidy the room", "tidying", "rooms", steps, questions)
