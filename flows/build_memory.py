"""Build the structures of a data set and the evidence of its questions: `strata build --dataset NAME`."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.futures import PrefectFuture

from storage.artifacts import Home
from storage.shards import load_dataset
from tasks.access import access_evidence
from tasks.build import build_structure, commit_vectors
from tasks.build_report import build_report, log_build
from tasks.derive import derive
from tasks.inventory import refresh_catalog
from tasks.plan import BuildPlan, ShardPlan
from tasks.progress import finish
from tasks.runner import thread_runner
from tasks.settings import Settings


@flow(name="build_memory", task_runner=thread_runner())
def build_memory(
    dataset: str,
    home: str = ".strata",
    structures: tuple[str, ...] = ("S", "T", "G", "V", "R"),
    settings: Settings | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    """Build what is missing and return counts by kind: how many artifacts are needed, how many were there already."""
    settings = settings or Settings()
    store = Home(home)
    store.sweep_drafts()
    plan = BuildPlan.of(load_dataset(store, dataset), structures, settings, limit)
    missing = plan.missing(store)
    futures: list[PrefectFuture[Any]] = []
    for shard in plan.shards:
        futures += _submit_shard(store, plan, shard)
    finish("derive and build", futures)
    committed = [commit_vectors.submit(home, plan.structures["V"], _keys(plan, "V"))] if "V" in plan.structures else []
    finish(
        "evidence",
        [_submit_evidence(store, plan, shard, letter, committed) for shard in plan.shards for letter in structures],
    )
    report = build_report(store, dataset, plan, missing)
    if missing:
        refresh_catalog(store, settings)
        report["run_id"] = log_build(store, dataset, settings, report)
    return report


def _submit_shard(home: Home, plan: BuildPlan, shard: ShardPlan) -> list[PrefectFuture[Any]]:
    derived = {name: derive.submit(home, key, [], maker, shard.shard) for name, (maker, key) in shard.derived.items()}
    built = [
        build_structure.submit(
            home,
            key,
            [derived[name] for name in plan.structures[letter].derives],
            plan.structures[letter],
            shard.shard,
            {name: str(shard.derived[name][1]) for name in plan.structures[letter].derives},
        )
        for letter, key in shard.structures.items()
    ]
    vectors = []
    if shard.question_vectors is not None:
        maker, key = shard.question_vectors
        vectors = [derive.submit(home, key, [], maker, shard.shard)]
    return [*derived.values(), *built, *vectors]


def _submit_evidence(
    home: Home, plan: BuildPlan, shard: ShardPlan, letter: str, committed: list[PrefectFuture[Any]]
) -> PrefectFuture[Any]:
    return access_evidence.submit(
        home,
        shard.evidence[letter],
        committed if letter == "V" else [],
        plan.structures[letter],
        str(shard.structures[letter]),
        shard.shard,
        str(shard.question_vectors[1]) if letter == "V" and shard.question_vectors else None,
    )


def _keys(plan: BuildPlan, letter: str) -> list[str]:
    return [str(shard.structures[letter]) for shard in plan.shards]
