"""What a policy may see of each question.

A context is made from retrieved evidence and the episode's metadata. Nothing derived from gold answers, verdicts, outcomes
or an episode's `success` gets in: this module never reads those columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from models.selector.contract import Case
from models.splits import EpisodeInfo
from storage.artifacts import Home
from storage.shards import read_shard
from tasks.plan import ShardPlan
from tasks.sections import evidence_rows

HEAD_CHARS = 200
TASK_CHARS = 500
TOP_SCORES = 3
MAX_STEPS = 32
HIDDEN = ("capability", "domain", "task_type")
"""Gold metadata of the benchmarks: the paper lets a policy see it; reports also give the result without."""


def cases(home: Home, plan: ShardPlan, structures: Sequence[str], metadata: bool = True) -> dict[str, Case]:
    """Every question of a shard as a policy sees it, by id. `metadata` False leaves capability, domain and task type out."""
    columns = ["episode_id", "task", "task_type", "domain", "n_steps"]
    episodes = {row["episode_id"]: row for row in read_shard(home, plan.shard, "episodes").select(columns).to_pylist()}
    evidence = {letter: evidence_rows(home, str(plan.evidence[letter])) for letter in structures}
    columns = ["question_id", "episode_id", "question", "capability"]
    found = {}
    for row in read_shard(home, plan.shard, "questions").select(columns).to_pylist():
        if row["episode_id"] in plan.episodes:
            previews = {letter: preview(rows[row["question_id"]]) for letter, rows in evidence.items()}
            context = context_of(episodes[row["episode_id"]], row["capability"], structures, previews, metadata)
            found[row["question_id"]] = Case(row["question_id"], row["question"], context)
    return found


def context_of(
    episode: Mapping[str, Any],
    capability: str,
    structures: Sequence[str],
    previews: Mapping[str, Mapping[str, Any]],
    metadata: bool,
) -> dict[str, Any]:
    """The context of one question; `capability` is "" for a question that no benchmark asked."""
    known = {"task_type": episode["task_type"], "domain": episode["domain"], "capability": capability}
    return {
        "task": episode["task"][:TASK_CHARS],
        **{name: known[name] if metadata else "" for name in HIDDEN},
        "n_steps": episode["n_steps"],
        "structures": list(structures),
        "previews": previews,
    }


def preview(row: Mapping[str, Any]) -> dict[str, Any]:
    """The preview of one structure's evidence for one question, a row of `schemas.EVIDENCE`."""
    return {
        "n_tokens": row["n_tokens"],
        "items": len(row["block_starts"]),
        "top_scores": [round(score, 4) for score in row["scores"][:TOP_SCORES]],
        "steps": row["steps"][:MAX_STEPS],
        "localised": row["localised"],
        "head": row["text"][:HEAD_CHARS],
    }


def episode_infos(home: Home, plans: Iterable[ShardPlan]) -> list[EpisodeInfo]:
    """What a split needs to know about each live episode."""
    infos = []
    for plan in plans:
        capabilities: dict[str, set[str]] = {}
        for row in read_shard(home, plan.shard, "questions").select(["episode_id", "capability"]).to_pylist():
            capabilities.setdefault(row["episode_id"], set()).add(row["capability"])
        for row in read_shard(home, plan.shard, "episodes").select(["episode_id", "domain", "task_type"]).to_pylist():
            if row["episode_id"] in plan.episodes:
                known = tuple(sorted(capabilities.get(row["episode_id"], ())))
                infos.append(EpisodeInfo(row["episode_id"], row["domain"], row["task_type"], known))
    return infos
