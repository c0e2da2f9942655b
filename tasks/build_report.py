"""What a build did, in numbers, and its MLflow run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from storage.artifacts import ArtifactKey, Home, canonical_json
from storage.shards import load_dataset
from tasks.plan import BuildPlan
from tasks.settings import Settings
from tasks.tracking import RunRecord, log_runs


def build_report(home: Home, dataset: str, plan: BuildPlan, missing: Sequence[ArtifactKey]) -> dict[str, Any]:
    """Counts by kind and name (`structures/R`): artifacts needed, built now, rows, seconds of building and tokens spent."""
    built = Counter(f"{key.kind}/{key.name}" for key in missing)
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
        "stages": {name: {**stage, "built": built[name]} for name, stage in stages.items()},
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
        tags={"dataset": dataset, "dataset_hash": load_dataset(home, dataset).digest},
        texts={"settings.json": canonical_json(settings), "build.json": canonical_json(report)},
    )
    return log_runs(home, dataset, "build", record)
