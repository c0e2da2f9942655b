"""Answer, score and report what each policy reads: `strata evaluate --dataset NAME --policy S+T`."""

from __future__ import annotations

from typing import Any

from prefect import flow

from storage.artifacts import Home
from tasks.budget import open_budget
from tasks.evaluate import submit_answers, submit_scores, submit_support
from tasks.evaluation import EvaluationConfig, plan_evaluation
from tasks.inventory import refresh_catalog
from tasks.progress import finish
from tasks.report import write_report
from tasks.runner import thread_runner
from tasks.settings import Settings


@flow(name="evaluate_policy", task_runner=thread_runner())
def evaluate_policy(
    dataset: str, home: str = ".strata", evaluation: EvaluationConfig | None = None, settings: Settings | None = None
) -> dict[str, Any]:
    """Evaluate policies on the questions of an ingested and built data set; return the scores and the report's path."""
    store, config = Home(home), evaluation or EvaluationConfig()
    plan = plan_evaluation(store, dataset, config, settings or Settings())
    plan.discard_errors(store)
    budget_id = open_budget(config.max_tokens, config.max_cost, plan.settings.prices)
    if plan.needs_answers:
        finish("answers", [submit_answers(store, plan, part, budget_id) for part in plan.plans])
        finish("scores", [submit_scores(store, plan, part, budget_id) for part in plan.plans])
    finish("support", [submit_support(store, plan, part) for part in plan.plans])
    report = write_report(store, plan, config.audit)
    refresh_catalog(store, plan.settings)
    return report
