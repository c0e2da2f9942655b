"""Small stand-ins at the seams: episodes made by hand, and a token counter without a tokenizer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

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


def ama_row(index: int, n_steps: int = 12, note: str = "") -> dict[str, object]:
    """One episode in AMA-Bench's official layout, made by rule."""
    episode = make_episode(str(index), n_steps, note or f"Room {index}.")
    return {
        "episode_id": index,
        "task": f"{episode.task} {index}",
        "task_type": "alfworld",
        "domain": "EMBODIED_AI",
        "success": True,
        "num_turns": n_steps,
        "trajectory": [{"turn_idx": s.step, "action": s.action, "observation": s.observation} for s in episode.steps],
        "qa_pairs": [
            {
                "question": f"At step {i + 1}, what did the agent take?",
                "answer": episode.steps[i + 1].action[5:],
                "type": kind,
            }
            for i, kind in enumerate("ABCD")
        ],
    }


def write_ama(path: Path, indices: Sequence[int], n_steps: int = 12) -> Path:
    """An AMA-Bench file with the episodes `indices`."""
    path.write_text("".join(json.dumps(ama_row(i, n_steps)) + "\n" for i in indices), encoding="utf-8")
    return path
