"""Build the structures of a data set and the evidence of its questions: `strata build --dataset NAME`."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from prefect import flow
from prefect.futures import PrefectFuture

from storage.artifacts import Home
from storage.shards import load_dataset
from tasks.access import access_evidence
from tasks.budget import open_budget
from tasks.build import build_structure, commit_vectors, vectors_committed
from tasks.build_report import build_report, log_build
from tasks.derive import derive
from tasks.inventory import refresh_catalog
from tasks.plan import BuildPlan, ShardPlan, needs_vectors
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
    max_tokens: int | None = None,
    max_cost: float | None = None,
) -> dict[str, Any]:
    """Build what is missing and return counts by kind: how many artifacts are needed, how many were there already."""
    settings = settings or Settings()
    budget_id = open_budget(max_tokens, max_cost, settings.prices)
    store = Home(home)
    store.sweep_drafts()
    plan = BuildPlan.of(store, load_dataset(store, dataset), structures, settings, limit)
    missing = plan.missing(store)
    todo = {str(key) for key in missing}
    submitted = [_submit_shard(store, plan, shard, todo, budget_id) for shard in plan.shards]
    finish("derive and build", [future for futures in submitted for future in futures])
    committed = _submit_commit(store, plan)
    finish(
        "evidence",
        [
            *committed,
            *(
                _submit_evidence(store, plan, shard, letter, committed, settings, budget_id)
                for shard in plan.shards
                for letter in structures
                if str(shard.evidence[letter]) in todo
            ),
        ],
    )
    report = build_report(store, dataset, plan, missing)
    if missing:
        refresh_catalog(store, settings)
        report["run_id"] = log_build(store, dataset, settings, report)
    return report


def _submit_shard(home: Home, plan: BuildPlan, shard: ShardPlan, todo: Set[str], budget_id: str) -> list[PrefectFuture[Any]]:
    """Submit what `todo` names: a finished artifact costs no task run."""
    derived: dict[str, PrefectFuture[Any]] = {}
    for name, (maker, key) in shard.derived.items():  # what others are made from comes first
        if str(key) in todo:
            waits = [derived[needed] for needed in maker.needs if needed in derived]
            needs = {needed: str(shard.derived[needed][1]) for needed in maker.needs}
            derived[name] = derive.submit(home, key, waits, maker, shard.shard, needs, budget_id)
    built = [
        build_structure.submit(
            home,
            key,
            [derived[name] for name in plan.structures[letter].derives if name in derived],
            plan.structures[letter],
            shard.shard,
            {name: str(shard.derived[name][1]) for name in plan.structures[letter].derives},
        )
        for letter, key in shard.structures.items()
        if str(key) in todo
    ]
    vectors = []
    if shard.question_vectors is not None:
        maker, key = shard.question_vectors
        vectors = [derive.submit(home, key, [], maker, shard.shard, {})] if str(key) in todo else []
    return [*derived.values(), *built, *vectors]


def _submit_commit(home: Home, plan: BuildPlan) -> list[PrefectFuture[Any]]:
    if "V" not in plan.structures:
        return []
    keys = [str(shard.structures["V"]) for shard in plan.shards]
    if vectors_committed(home, plan.structures["V"], keys):
        return []
    return [commit_vectors.submit(home.url, plan.structures["V"], keys)]


def _submit_evidence(
    home: Home,
    plan: BuildPlan,
    shard: ShardPlan,
    letter: str,
    committed: list[PrefectFuture[Any]],
    settings: Settings,
    budget_id: str,
) -> PrefectFuture[Any]:
    return access_evidence.submit(
        home,
        shard.evidence[letter],
        committed if letter == "V" else [],
        plan.structures[letter],
        str(shard.structures[letter]),
        shard.shard,
        str(shard.question_vectors[1]) if shard.question_vectors and needs_vectors(plan.structures[letter]) else None,
        settings,
        plan.router if letter == "H" else "",
        budget_id,
    )
