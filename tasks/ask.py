"""One question about one episode, answered from built structures: what an agent does in its loop."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from models.answer import AnswerTask
from models.compose import Section
from models.embedders import embedder
from models.tokens import count_tokens
from storage.artifacts import ArtifactError, Home
from storage.records import CONVERSATION
from storage.shards import read_shard
from storage.structures.base import Evidence, Query
from tasks.evaluation import require_dataset
from tasks.plan import BuildPlan, ShardPlan, built
from tasks.readers import make_answerer
from tasks.settings import Settings


@dataclass(frozen=True)
class Read:
    """What one structure gave: its text, the steps in it, tokens and milliseconds."""

    structure: str
    text: str
    steps: tuple[int, ...]
    n_tokens: int
    localised: bool
    ms: float


def ask(
    home: Home, dataset: str, episode_id: str, question: str, letters: tuple[str, ...], settings: Settings
) -> dict[str, Any]:
    """Answer `question` and show what was read for it.

    `ArtifactError` when the episode is not ingested or a structure of its shard is not built.
    """
    plan = _shard_of(home, dataset, episode_id, letters, settings)
    episodes = {row["episode_id"]: row for row in read_shard(home, plan.shard, "episodes").to_pylist()}
    needs_vector = "embeddings" in plan.derived
    vector = embedder(settings.embedder).embed_queries([question])[0] if needs_vector else None
    reads = [_read(home, plan, letter, settings, episode_id, Query(question, vector)) for letter in letters]
    task = AnswerTask(
        question_id=f"{dataset}/{episode_id}/ask",
        question=question,
        task=episodes[episode_id]["task"],
        sections=tuple(section for section, _ in reads),
        localised=any(read.localised for _, read in reads),
        conversation=episodes[episode_id]["task_type"] == CONVERSATION,
    )
    [answer] = make_answerer(settings).answer([task])
    return {
        "dataset": dataset,
        "episode": episode_id,
        "question": question,
        "answer": answer.text,
        "status": answer.status,
        "error": answer.error,
        "answerer": settings.answerer,
        "evidence_tokens": answer.evidence_tokens,
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "truncated": list(answer.truncated),
        "evidence": [asdict(read) for _, read in reads],
    }


def _shard_of(home: Home, dataset: str, episode_id: str, letters: tuple[str, ...], settings: Settings) -> ShardPlan:
    live = require_dataset(home, dataset)
    if episode_id not in live.live:
        some = ", ".join(list(live.live)[:5])
        raise ArtifactError(f"episode {episode_id!r} is not in {dataset}; it has {len(live.live)} episodes, such as {some}")
    plan = BuildPlan.of(live, letters, settings)
    return next(shard for shard in plan.shards if episode_id in shard.episodes)


def _read(
    home: Home, plan: ShardPlan, letter: str, settings: Settings, episode_id: str, query: Query
) -> tuple[Section, Read]:
    index = settings.structure(letter).open(built(home, str(plan.structures[letter])), episode_id)
    started = time.perf_counter()
    evidence: Evidence = index.access(query)
    milliseconds = (time.perf_counter() - started) * 1_000
    [n_tokens] = count_tokens([evidence.text])
    section = Section(letter, evidence.text, evidence.block_starts, n_tokens)
    return section, Read(letter, evidence.text, evidence.steps, n_tokens, evidence.localised, round(milliseconds, 3))
