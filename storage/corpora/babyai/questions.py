"""Twelve questions about a trace, in AMA-Bench's mix: 4 recall, 3 causal, 3 update, 2 abstraction.

Gold answers and evidence come from the recorded state of the simulator, never from the text of an observation.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from storage.corpora.babyai.abstraction import ABSTRACTION
from storage.corpora.babyai.causal import CAUSAL
from storage.corpora.babyai.draft import Draft, Template, Templates
from storage.corpora.babyai.recall import RECALL
from storage.corpora.babyai.trace import Trace
from storage.corpora.babyai.update import UPDATE
from storage.records import Question

MIX = (("recall", 4, RECALL), ("causal", 3, CAUSAL), ("update", 3, UPDATE), ("abstraction", 2, ABSTRACTION))

STEPWISE_SHARE = 0.7
"""Share of questions that try to name a step first (AMA-Bench: about 76 %, FACTS.md section 0)."""

MIN_STEPS = 5
"""Every capability has a template with one question per step but the first, so this many steps always fill the quotas."""


def ask_about(trace: Trace, rng: random.Random) -> tuple[Question, ...]:
    """The questions of an episode of at least `MIN_STEPS` steps, all different, grouped by capability."""
    drafts: list[tuple[str, Draft]] = []
    for capability, quota, templates in MIX:
        drafts += [(capability, draft) for draft in _choose(templates, quota, trace, rng)]
    return tuple(
        Question(index, draft.question, draft.answer, capability, evidence_steps=draft.steps)
        for index, (capability, draft) in enumerate(drafts)
    )


def _choose(templates: Templates, quota: int, trace: Trace, rng: random.Random) -> list[Draft]:
    """`quota` drafts of one capability. A used template comes after the unused ones of its group."""
    candidates = {template: template(trace, rng) for template in (*templates.stepwise, *templates.global_)}
    times_used: dict[Template, int] = {}
    chosen: list[Draft] = []
    while len(chosen) < quota:
        groups = [templates.stepwise, templates.global_]
        if rng.random() >= STEPWISE_SHARE:
            groups.reverse()
        for template in (t for group in groups for t in _least_used_first(group, times_used, rng)):
            draft = _next_new(candidates[template], chosen)
            if draft is not None:
                chosen.append(draft)
                times_used[template] = times_used.get(template, 0) + 1
                break
        else:
            raise ValueError(
                f"an episode of {len(trace.moments)} steps has too few questions; at least {MIN_STEPS} are needed"
            )
    return chosen


def _least_used_first(group: tuple[Template, ...], times_used: dict[Template, int], rng: random.Random) -> list[Template]:
    return sorted(rng.sample(group, len(group)), key=lambda template: times_used.get(template, 0))


def _next_new(drafts: Iterator[Draft], chosen: list[Draft]) -> Draft | None:
    """The next draft that is not another wording of a chosen one."""
    for draft in drafts:
        if all(
            draft.question != other.question and (draft.answer, draft.steps) != (other.answer, other.steps)
            for other in chosen
        ):
            return draft
    return None
