"""What an evaluation or a sweep would cost, from real token counts, before anything is spent.

Prompts are counted as they would be sent; a reply counts its upper bound. Finished answers and scores cost nothing and are
not in the numbers; answers in the journal of a stopped run are, since they are only found when they are asked for. The
extractive reader calls no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.compose import compose
from storage.artifacts import Home
from tasks.cache import Assignment
from tasks.evaluation import JUDGE, Evaluation
from tasks.plan import ShardPlan
from tasks.readers import EXTRACTIVE
from tasks.sections import ShardEvidence, answer_task
from tasks.sweep import Sweep


def estimate(home: Home, evaluation: Evaluation) -> dict[str, Any]:
    """What an evaluation would spend."""
    parts = [(plan.shard, plan.evidence, plan.assignment) for plan in evaluation.plans if not home.has(plan.answers)]
    judged = sum(len(plan.assignment) for plan in evaluation.plans if not home.has(plan.outcomes))
    return {
        "policies": list(evaluation.policies),
        **_estimate(home, evaluation, parts if evaluation.needs_answers else [], judged),
    }


def estimate_sweep(home: Home, sweep: Sweep) -> dict[str, Any]:
    """What a sweep would spend."""
    parts = [(part.shard, part.evidence, part.missing) for part in sweep.shards]
    scored = {key: home.has(sweep.outcomes_of(key)) for _, key in sweep.answer_keys()}
    judged = sum(not scored[key] for part in sweep.shards for key in part.sources().values())
    return {
        "questions": sweep.questions,
        "subsets": len(sweep.subsets),
        "new": sweep.missing,
        **_estimate(home, sweep, parts if sweep.needs_answers else [], judged),
    }


Part = tuple[ShardPlan, Mapping[str, str], Assignment]


def _estimate(home: Home, plan: Evaluation | Sweep, parts: Sequence[Part], judged: int) -> dict[str, Any]:
    calls = prompt_tokens = 0
    settings = plan.settings
    if settings.answerer != EXTRACTIVE:
        for shard, evidence, assignment in parts:
            source = ShardEvidence(home, shard.shard, evidence, settings.compose)
            for question, subset in assignment:
                task = answer_task(source, question, subset)
                prompt_tokens += compose(task.question, task.task, task.sections, settings.compose).prompt_tokens
                calls += 1
    return {
        "dry_run": True,
        "dataset": plan.dataset,
        "answerer": settings.answerer,
        "answer_calls": calls,
        "answer_prompt_tokens": prompt_tokens,
        "answer_completion_tokens_at_most": calls * settings.compose.answer_tokens,
        "judge_calls": judged if plan.metric == JUDGE else 0,
    }
