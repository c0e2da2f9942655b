"""What a router is trained on: the event graphs of a data set and its questions with their vectors.

Gold evidence is read here and nowhere else on the way to a router: as targets, which are labels of rewards and losses.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.router.questions import RouterQuestion, trainable
from storage.artifacts import ArtifactError, Home
from storage.shards import read_shard
from storage.structures.event_graph import EventGraphStructure
from storage.structures.events import EventGraph
from storage.structures.intent import intent
from tasks.access import question_vectors
from tasks.evaluation import require_dataset
from tasks.plan import BuildPlan, built
from tasks.settings import Settings


@dataclass(frozen=True)
class RouterData:
    """Graphs by episode, and the questions that can be learned from. `keys` are the artifacts that both were read from."""

    graphs: dict[str, EventGraph]
    questions: tuple[RouterQuestion, ...]
    keys: tuple[str, ...]

    @property
    def episodes(self) -> list[str]:
        """The episodes with a question to learn from."""
        return sorted({question.episode_id for question in self.questions})


def plan_graphs(home: Home, dataset: str, settings: Settings) -> BuildPlan:
    """The build of H. `ArtifactError` says what to run while it is missing."""
    plan = BuildPlan.of(home, require_dataset(home, dataset), ("H",), settings)
    needed = [
        key for shard in plan.shards for key in (shard.structures["H"], shard.question_vectors and shard.question_vectors[1])
    ]
    if missing := [key for key in needed if key is not None and not home.has(key)]:
        raise ArtifactError(
            f"{len(missing)} artifacts of H are missing: run `strata build --dataset {dataset} --structures H` first"
        )
    return plan


def read_router_data(home: Home, dataset: str, settings: Settings, adversarial: bool = False) -> RouterData:
    """Read graphs and questions. `ArtifactError` when they are not built, or when no question has gold evidence."""
    plan = plan_graphs(home, dataset, settings)
    structure = plan.structures["H"]
    assert isinstance(structure, EventGraphStructure)
    graphs: dict[str, EventGraph] = {}
    questions: list[RouterQuestion] = []
    keys: list[str] = []
    for shard in plan.shards:
        assert shard.question_vectors is not None
        key, vectors_key = str(shard.structures["H"]), str(shard.question_vectors[1])
        graphs |= {episode: structure.open(built(home, key), episode).graph for episode in shard.episodes}
        vectors = question_vectors(home, vectors_key)
        keys += [key, vectors_key, shard.shard.key]
        questions += [
            RouterQuestion(
                question_id=row["question_id"],
                episode_id=row["episode_id"],
                text=row["question"],
                vector=vectors[row["question_id"]],
                intent=intent(row["question"]),
                capability=row["capability"],
                targets=tuple(row["evidence_steps"]),
            )
            for row in read_shard(home, shard.shard, "questions").to_pylist()
            if row["episode_id"] in shard.episodes
        ]
    learnable = trainable(questions, graphs, adversarial)
    if not learnable:
        raise ArtifactError(f"no question of {dataset} has gold evidence: a router is trained on a data set that has")
    return RouterData(graphs, learnable, tuple(keys))
