"""What the router's benchmark trains on: LoCoMo where the data is there, and generated conversations of any size."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from models.embedders import embedder
from models.extract.events import events
from models.router.questions import RouterQuestion, trainable
from storage.corpora.base import ReadReport
from storage.corpora.locomo import Locomo
from storage.records import Episode
from storage.structures.event_links import LinkConfig, link
from storage.structures.events import EventGraph
from storage.structures.intent import intent
from storage.structures.render import StepRow

Data = tuple[dict[str, EventGraph], tuple[RouterQuestion, ...]]

_WORDS = 20_000


def find_data() -> tuple[str, Data]:
    """LoCoMo, or ten generated conversations of 600 turns and 150 questions when its file is not there."""
    folder = Path(os.environ.get("STRATA_DATA_DIR", Path(__file__).parents[3] / "shared" / "data"))
    file = folder / "locomo" / "locomo10.json"
    return ("locomo", locomo(file)) if file.exists() else ("generated", generated(10, 600, 150))


def locomo(file: Path) -> Data:
    """The graphs and questions of LoCoMo, embedded with MiniLM."""
    graphs: dict[str, EventGraph] = {}
    questions: list[RouterQuestion] = []
    encoder = embedder("minilm")
    for episode in Locomo().read(str(file), ReadReport()):
        graphs[episode.episode_id] = _graph(episode)
        vectors = encoder.embed_queries([question.question for question in episode.questions])
        for question, vector in zip(episode.questions, vectors, strict=True):
            name, text = f"locomo/{episode.episode_id}/{question.index}", question.question
            steps = question.evidence_steps
            questions.append(
                RouterQuestion(name, episode.episode_id, text, vector, intent(text), question.capability, steps)
            )
    return graphs, trainable(questions, graphs)


def generated(count: int, size: int, asked: int, seed: int = 0) -> Data:
    """`count` conversations of `size` turns in sessions of 20, each with `asked` questions that resemble their target."""
    graphs, questions = {}, []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        name = f"generated-{number}"
        graphs[name] = graph = link(_turns(name, size, rng), "conversation", LinkConfig())
        for index, target in enumerate(rng.integers(size, size=asked).tolist()):
            vector = graph.vectors[target] + rng.normal(0, 0.06, graph.vectors.shape[1])
            vector = (vector / np.linalg.norm(vector)).astype(np.float32)
            text = "What about " + " ".join(graph.contents[target].split()[2:5])
            questions.append(
                RouterQuestion(f"generated/{name}/{index}", name, text, vector, intent(text), "single_hop", (target,))
            )
    return graphs, tuple(questions)


def _graph(episode: Episode) -> EventGraph:
    rows = [StepRow(s.step, s.action, s.observation, s.speaker, s.session, s.timestamp, s.ref) for s in episode.steps]
    found = events(rows)
    contents = tuple(event.content for event in found)
    nodes = EventGraph(
        episode.episode_id,
        np.array([row.step for row in rows]),
        texts=contents,
        contents=contents,
        speakers=tuple(row.speaker or "" for row in rows),
        sessions=np.array([-1 if row.session is None else row.session for row in rows]),
        seconds=np.array([np.nan if row.timestamp is None else row.timestamp.timestamp() for row in rows]),
        entities=tuple(event.entities for event in found),
        refs=tuple(row.ref or "" for row in rows),
        vectors=embedder("minilm").embed_documents(contents),
        **_no_edges(),
    )
    return link(nodes, "conversation", LinkConfig())


def _turns(name: str, size: int, rng: np.random.Generator) -> EventGraph:
    """Turns of 8 words by Zipf; neighbours in time resemble each other."""
    words = [[f"w{min(int(word), _WORDS)}" for word in rng.zipf(1.3, size=8)] for _ in range(size)]
    vectors = rng.standard_normal((size, 384)).astype(np.float32)
    vectors[1:] += 0.7 * vectors[:-1]
    speakers = tuple("Ann" if i % 2 else "Bo" for i in range(size))
    contents = tuple(f"{speaker}: {' '.join(said)}" for speaker, said in zip(speakers, words, strict=True))
    sessions = np.arange(size) // 20
    return EventGraph(
        name,
        np.arange(size),
        texts=contents,
        contents=contents,
        speakers=speakers,
        sessions=sessions,
        seconds=sessions * 90_000.0 + 1.7e9,
        entities=tuple(tuple(dict.fromkeys(said[:2])) for said in words),
        refs=("",) * size,
        vectors=vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
        **_no_edges(),
    )


def _no_edges() -> dict[str, np.ndarray]:
    return {
        "source": np.zeros(0, np.int32),
        "target": np.zeros(0, np.int32),
        "features": np.zeros((0, 4), np.float32),
    }
