"""What an evaluation would cost, from real token counts, before anything is spent."""

from __future__ import annotations

from typing import Any

from models.compose import compose
from storage.artifacts import Home
from tasks.evaluation import JUDGE, Evaluation
from tasks.readers import EXTRACTIVE
from tasks.sections import ShardEvidence, answer_task


def estimate(home: Home, evaluation: Evaluation) -> dict[str, Any]:
    """Calls and tokens that a run would spend. Prompts are counted as they would be sent; a reply counts its upper bound.

    Finished answers and scores cost nothing and are not in the numbers; answers in the journal of a stopped run are, since
    they are only found when they are asked for. The extractive reader calls no model.
    """
    calls = prompt_tokens = judge_calls = 0
    settings = evaluation.settings
    if evaluation.needs_answers and settings.answerer != EXTRACTIVE:
        for plan in evaluation.plans:
            if home.has(plan.answers):
                continue
            source = ShardEvidence(home, plan.shard.shard, plan.evidence, settings.compose)
            for question, subset in plan.assignment:
                task = answer_task(source, question, subset)
                prompt_tokens += compose(task.question, task.task, task.sections, settings.compose).prompt_tokens
                calls += 1
    if evaluation.metric == JUDGE:
        judge_calls = sum(len(plan.assignment) for plan in evaluation.plans if not home.has(plan.outcomes))
    return {
        "dry_run": True,
        "dataset": evaluation.dataset,
        "policies": list(evaluation.policies),
        "answerer": evaluation.answerer,
        "answer_calls": calls,
        "answer_prompt_tokens": prompt_tokens,
        "answer_completion_tokens_at_most": calls * settings.compose.answer_tokens,
        "judge_calls": judge_calls,
    }
