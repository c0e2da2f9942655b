"""Outcome tables with a known rule in them, to see whether a search finds it. For tests and benchmarks, no data of anyone.

The rule looks at everything a policy may look at, question words, domain, capability and previews:

    T localised a step that the question names         T, with R where the domain is SOFTWARE
    else an abstraction question                       S
    else a question that begins with "why"             G+V
    else                                               V

A subset that holds all of these structures succeeds with probability `hit`, less `distraction` for each one too many; any
other with probability `miss`. Outcomes are drawn once a question and subset, so a rule never scores 1 and a question's own
best subset is mostly noise. Evidence tokens follow the means of the paper's Table 3.

    table = planted(np.random.default_rng(0), 163)
    best = [planted_rule(case) for case in table.cases]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.selector.contract import Case, OutcomeTable
from models.selector.lookups import objectives
from models.selector.subsets import SEPARATOR, all_subsets

DATASET = "planted"


@dataclass(frozen=True, slots=True)
class PlantedConfig:
    """How strong the rule is and how loud the noise. `tokens` are mean evidence tokens of each structure (Table 3)."""

    questions: int = 12
    hit: float = 0.95
    miss: float = 0.1
    distraction: float = 0.1
    tokens: tuple[tuple[str, int], ...] = (("S", 5_700), ("T", 2_800), ("G", 800), ("V", 3_500), ("R", 10_500))

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(letter for letter, _ in self.tokens)


DOMAINS: tuple[tuple[str, str], ...] = (
    ("TEXT2SQL", "spider2"),
    ("SOFTWARE", "swebench"),
    ("WEB", "webarena"),
    ("EMBODIED_AI", "alfworld"),
    ("OPENWORLD_QA", "gaia_level1"),
    ("Game", "crafter"),
)
CAPABILITIES = ("recall", "causal", "update", "abstraction")
_TOPICS = ("the query", "the agent", "the second table", "the failing test", "the door", "the search form")
_WORDS: Mapping[str, tuple[str, ...]] = {
    "recall": ("What did {topic} return{step}?", "Which value was shown for {topic}{step}?"),
    "causal": ("Why did {topic} change{step}?", "What led to the change of {topic}{step}?"),
    "update": ("What is the state of {topic}{step}?", "How many times had {topic} changed{step}?"),
    "abstraction": ("How would you describe the handling of {topic}{step}?", "What pattern does {topic} follow{step}?"),
}


def planted(rng: np.random.Generator, episodes: int, config: PlantedConfig | None = None) -> OutcomeTable:
    """Cases of `episodes` episodes, every domain in turn, with outcomes under all subsets drawn by the rule."""
    settings = config or PlantedConfig()
    cases = tuple(_case(rng, episode, index, settings) for episode in range(episodes) for index in range(settings.questions))
    subsets = tuple(all_subsets(settings.letters))
    scores = (rng.random((len(cases), len(subsets))) < _chances(cases, subsets, settings)).astype(np.float64)
    return OutcomeTable(cases, subsets, scores, _tokens(cases, subsets))


def planted_rule(case: Case) -> str:
    """The subset that the rule reads for a question."""
    context = case.context
    if context["previews"]["T"]["localised"]:
        return "T+R" if context["domain"] == "SOFTWARE" else "T"
    if context["capability"] == "abstraction":
        return "S"
    return "G+V" if case.question.startswith("Why") else "V"


def rule_objective(table: OutcomeTable, cost: float) -> float:
    """J - cost * C of the rule itself on a planted table or a part of it: what a search can hope for."""
    values = objectives(table, cost)
    chosen = [table.subsets.index(planted_rule(case)) for case in table.cases]
    return float(values[np.arange(len(table.cases)), chosen].mean())


def _case(rng: np.random.Generator, episode: int, index: int, config: PlantedConfig) -> Case:
    domain, task_type = DOMAINS[episode % len(DOMAINS)]
    capability = CAPABILITIES[index % len(CAPABILITIES)]
    step = int(rng.integers(0, 60))
    named = bool(rng.random() < 0.5)
    template = _WORDS[capability][int(rng.integers(2))]
    topic = _TOPICS[int(rng.integers(len(_TOPICS)))]
    context = {
        "task": f"Task {episode}",
        "task_type": task_type,
        "domain": domain,
        "capability": capability,
        "n_steps": 60,
        "structures": list(config.letters),
        "previews": _previews(rng, step, named, config),
    }
    question = template.format(topic=topic, step=f" at step {step}" if named else "")
    return Case(f"{DATASET}/{episode}/{index}", question, context)


def _previews(rng: np.random.Generator, step: int, named: bool, config: PlantedConfig) -> dict[str, dict[str, Any]]:
    # A named step may lie past the end of the episode: the rule asks the preview, not the words.
    localised = named and bool(rng.random() < 0.85)
    items = {"S": 1, "T": 1, "G": int(rng.integers(1, 9)) * int(rng.random() < 0.7), "V": 5, "R": 3}
    previews = {}
    for letter, mean in config.tokens:
        n = items.get(letter, 1)
        previews[letter] = {
            "n_tokens": round(mean * rng.gamma(4.0, 0.25)) if n else 0,
            "items": n,
            "top_scores": [round(float(rng.random()), 3)] if n else [],
            "steps": [step] if letter == "T" and localised else rng.integers(0, 60, n).tolist(),
            "localised": letter == "T" and localised,
            "head": f"Step {step}: ..." if n else "",
        }
    return previews


def _chances(cases: Sequence[Case], subsets: Sequence[str], config: PlantedConfig) -> NDArray[np.float64]:
    """The probability (n, m) of success of each question under each subset."""
    needed = [frozenset(planted_rule(case).split(SEPARATOR)) for case in cases]
    read = [frozenset(subset.split(SEPARATOR)) for subset in subsets]
    return np.array(
        [[config.hit - config.distraction * len(r - n) if n <= r else config.miss for r in read] for n in needed]
    )


def _tokens(cases: Sequence[Case], subsets: Sequence[str]) -> NDArray[np.float64]:
    rows = []
    for case in cases:
        spent = {letter: preview["n_tokens"] for letter, preview in case.context["previews"].items()}
        rows.append([float(sum(spent[letter] for letter in subset.split(SEPARATOR))) for subset in subsets])
    return np.array(rows)
