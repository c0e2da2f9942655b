"""A question as the router learns from it. Its targets are labels: nothing but rewards, losses and scores reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from storage.structures.events import EventGraph

ADVERSARIAL = "adversarial"


@dataclass(frozen=True)
class RouterQuestion:
    """One question about one episode: `vector` (d,) is its embedding, `intent` a word of `INTENTS` told from its text alone,
    `targets` the labels of its gold evidence steps."""

    question_id: str
    episode_id: str
    text: str
    vector: NDArray[np.float32]
    intent: str
    capability: str
    targets: tuple[int, ...]


def trainable(
    questions: Iterable[RouterQuestion], graphs: Mapping[str, EventGraph], adversarial: bool = False
) -> tuple[RouterQuestion, ...]:
    """The questions that can be learned from: about one of `graphs`, with at least one target that is an event of it.

    Targets that are no event are dropped. Adversarial questions, whose gold is abstention, are left out unless asked for.
    """
    kept = []
    known = {name: frozenset(graph.steps.tolist()) for name, graph in graphs.items()}
    for question in questions:
        targets = tuple(step for step in question.targets if step in known.get(question.episode_id, ()))
        if targets and (adversarial or question.capability != ADVERSARIAL):
            kept.append(replace(question, targets=targets))
    return tuple(kept)


def by_episode(questions: Sequence[RouterQuestion]) -> dict[str, tuple[RouterQuestion, ...]]:
    """The questions of every episode, in the order given; episodes in order of first appearance."""
    groups: dict[str, list[RouterQuestion]] = {}
    for question in questions:
        groups.setdefault(question.episode_id, []).append(question)
    return {name: tuple(group) for name, group in groups.items()}
