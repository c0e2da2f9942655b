"""A small graph with questions that tests walk by hand.

a -> b -> d        positions 0 to 4; e is not linked; vectors are the axes 0 to 4
a -> c -> d
"""

from __future__ import annotations

import numpy as np

from models.router.batch import PackedGraph, PackedQuestions, pack_graph, pack_questions
from models.router.questions import RouterQuestion
from storage.structures.event_links import LinkConfig, link
from storage.structures.events import EventGraph
from tests.storage.structures.events_of import Said, random_nodes
from tests.storage.structures.linked_events import linked

GRAPH = linked(
    [Said(name, axes=(i,)) for i, name in enumerate("abcde")],
    {(0, 1): (1, 0, 0, 0), (0, 2): (0, 1, 0, 0), (1, 3): (0, 0, 1, 0), (2, 3): (0, 0, 0, 1)},
    dimension=8,
)


def ask(targets: str, toward: dict[str, float], index: int = 0) -> RouterQuestion:
    """A question with the events `targets`, whose embedding has the given cosines with events."""
    vector = np.zeros(8, dtype=np.float32)
    for name, cosine in toward.items():
        vector["abcde".index(name)] = cosine
    steps = tuple(int(GRAPH.steps["abcde".index(name)]) for name in targets)
    return RouterQuestion(f"toy/e/{index}", "e", "x", vector, "general", "single_hop", steps)


def packed(*questions: RouterQuestion) -> tuple[PackedGraph, PackedQuestions]:
    return pack_graph(GRAPH), pack_questions(GRAPH, questions)


def conversations(count: int = 6, size: int = 40, asked: int = 12) -> tuple[dict[str, EventGraph], list[RouterQuestion]]:
    """Random conversations whose questions have a target near the event that they resemble: something to learn."""
    from dataclasses import replace

    graphs, questions = {}, []
    for number in range(count):
        name = f"talk-{number}"
        graphs[name] = graph = replace(link(random_nodes(size, number), "conversation", LinkConfig()), episode_id=name)
        rng = np.random.default_rng(number)
        for index in range(asked):
            start = int(rng.integers(size - 2))
            vector = graph.vectors[start] + 0.1 * rng.standard_normal(16).astype(np.float32)
            vector = (vector / np.linalg.norm(vector)).astype(np.float32)
            targets = (int(graph.steps[start + 1]),) if index % 3 else (int(graph.steps[start]), int(graph.steps[start + 2]))
            questions.append(
                RouterQuestion(f"toy/{name}/{index}", name, "Why did Ann see w3?", vector, "causal", "single_hop", targets)
            )
    return graphs, questions
