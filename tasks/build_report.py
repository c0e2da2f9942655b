"""What a build did, in numbers, and its MLflow run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from storage.artifacts import ArtifactKey, Home, canonical_json
from storage.structures.event_graph import counts
from tasks.plan import BuildPlan, built
from tasks.settings import Settings
from tasks.tracking import RunRecord, log_runs


def build_report(home: Home, dataset: str, plan: BuildPlan, missing: Sequence[ArtifactKey]) -> dict[str, Any]:
    """Counts by kind and name (`structures/R`): artifacts needed, built now, rows, seconds of building and tokens spent."""
    now = Counter(f"{key.kind}/{key.name}" for key in missing)
    stages: dict[str, dict[str, Any]] = {}
    for key in plan.artifacts():
        manifest = home.manifest(key) or {}
        stage = stages.setdefault(f"{key.kind}/{key.name}", defaultdict(int))
        stage["artifacts"] += 1
        stage["rows"] += manifest.get("rows", 0)
        stage["seconds"] = round(stage["seconds"] + manifest.get("seconds", 0.0), 3)
        stage["tokens"] += manifest.get("tokens", 0)
    return {
        "dataset": dataset,
        "structures": list(plan.structures),
        "episodes": sum(len(shard.episodes) for shard in plan.shards),
        "shards": len(plan.shards),
        "built": len(missing),
        "cached": sum(stage["artifacts"] for stage in stages.values()) - len(missing),
        "stages": {name: {**stage, "built": now[name]} for name, stage in stages.items()},
        **({"event_graph": _graph_counts(home, plan)} if "H" in plan.structures else {}),
    }


def _graph_counts(home: Home, plan: BuildPlan) -> dict[str, Any]:
    """Nodes and edges of H over all shards, the edges also by relation; an edge may hold several relations."""
    found = [counts(built(home, str(shard.structures["H"]))) for shard in plan.shards]
    relations = Counter[str]()
    for one in found:
        relations.update(one["edges_per_relation"])
    return {
        "nodes": sum(one["nodes"] for one in found),
        "edges": sum(one["edges"] for one in found),
        "edges_per_relation": dict(relations),
    }


def log_build(home: Home, dataset: str, settings: Settings, report: dict[str, Any]) -> str:
    """Log the build to MLflow; return the run's id."""
    stages = report["stages"].items()
    record = RunRecord(
        name=f"build {'+'.join(report['structures'])}",
        params={"structures": "+".join(report["structures"]), "embedder": settings.embedder},
        metrics={
            **{name: float(report[name]) for name in ("episodes", "shards", "built", "cached")},
            **{f"seconds/{name}": float(stage["seconds"]) for name, stage in stages},
            **{f"rows/{name}": float(stage["rows"]) for name, stage in stages},
        },
        texts={"settings.json": canonical_json(settings), "build.json": canonical_json(report)},
    )
    return log_runs(home, dataset, "build", record)
