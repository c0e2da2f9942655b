"""Every question under every non-empty subset of the structures: `strata sweep --dataset NAME`."""

from __future__ import annotations

from typing import Any

from prefect import flow

from storage.artifacts import Home
from tasks.budget import open_budget
from tasks.evaluate import submit_sweep, submit_sweep_scores
from tasks.progress import finish
from tasks.runner import thread_runner
from tasks.selector_config import SweepConfig
from tasks.settings import Settings
from tasks.sweep import plan_sweep
from tasks.sweep_report import write_sweep_report


@flow(name="sweep_subsets", task_runner=thread_runner())
def sweep_subsets(
    dataset: str, home: str = ".strata", sweep: SweepConfig | None = None, settings: Settings | None = None
) -> dict[str, Any]:
    """Answer and score what is missing of a sweep; return its counts and analysis."""
    store, config = Home(home), sweep or SweepConfig()
    settings = settings or Settings()
    plan_sweep(store, dataset, config, settings, retry=False).discard_errors(store)
    plan = plan_sweep(store, dataset, config, settings)
    budget_id = open_budget(config.max_tokens, config.max_cost, settings.prices)
    finish("sweep", [submit_sweep(store, plan, shard, budget_id) for shard in plan.shards if shard.missing])
    if plan.needs_answers:
        finish("scores", [submit_sweep_scores(store, plan, shard, key, budget_id) for shard, key in plan.answer_keys()])
    return write_sweep_report(store, plan, config)
