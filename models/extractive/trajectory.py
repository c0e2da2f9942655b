"""A few sentences from the steps of a trajectory: the steps that the question names, or the ones that match best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from models.extractive.config import ExtractiveConfig
from models.extractive.ranking import Ranking
from models.extractive.units import Unit
from models.extractive.words import sentences
from storage.structures.step_refs import parse_steps

_WHICH_STEP = re.compile(r"\b(?:what|which) (?:step|turn)\b", re.IGNORECASE)
_HOW_OFTEN = re.compile(r"\bhow (?:frequently|often|many times)\b", re.IGNORECASE)
_ACTIONS = re.compile(r"\b(?:what|which)(?: \w+){0,2} (?:actions?|commands?)\b", re.IGNORECASE)
_MIN_WORDS = 8
"""A step is quoted with at least this many words."""


def answer_from_steps(question: str, ranking: Ranking, config: ExtractiveConfig) -> str:
    """The answer to a question about a trajectory; empty where the evidence holds nothing that matches."""
    named = named_steps(question, ranking.units)
    if named and _HOW_OFTEN.search(question):
        return _first_words(_frequencies(named), config.max_words)
    shown = named or ranking.best(1 if _WHICH_STEP.search(question) else 2)
    if not shown:
        return ""
    n_words = max(_MIN_WORDS, config.max_words // len(shown))
    actions_only = bool(named) and bool(_ACTIONS.search(question)) and len(shown) > 1
    quotes = (_first_words(_quote(unit, ranking, actions_only), n_words) for unit in shown)
    return _first_words(" ".join(quotes), config.max_words)


def named_steps(question: str, units: Sequence[Unit]) -> list[Unit]:
    """The steps of the evidence that the question names, in order."""
    by_label = {unit.step: unit for unit in units if unit.step is not None}
    return [by_label[label] for label in parse_steps(question).resolve(list(by_label))] if by_label else []


def _frequencies(steps: Sequence[Unit]) -> str:
    counts = Counter(unit.action for unit in steps)
    return ", ".join(f"'{action}' ({n} time{'' if n == 1 else 's'})" for action, n in counts.most_common())


def _quote(unit: Unit, ranking: Ranking, actions_only: bool) -> str:
    """A step with its action and the two sentences of its observation that match best, or a line as it is."""
    if unit.step is None:
        return unit.text
    if actions_only:
        return f"step {unit.step}: {unit.action};"
    said = sentences(unit.text)
    best = sorted(sorted(range(len(said)), key=lambda i: (-ranking.score(said[i]), i))[:2])
    return f"Step {unit.step}: {unit.action} {' '.join(said[i] for i in best)}"


def _first_words(text: str, n: int) -> str:
    return " ".join(text.split()[:n])
