"""What an evaluation consists of: for each policy and shard, the artifacts that answer, score and measure it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.metrics import metric_name
from models.selector.policies import Policy, parse_policy
from storage.artifacts import ArtifactError, ArtifactKey, Home
from storage.shards import Dataset, load_dataset, read_shard
from storage.structures import STRUCTURES
from tasks.cache import Assignment, answers_key, outcomes_key, support_key
from tasks.plan import BuildPlan, ShardPlan
from tasks.readers import make_answerer, make_judge
from tasks.sections import letters_of
from tasks.settings import Settings, SettingsError

JUDGE, SUPPORT = "judge", "support"


@dataclass(frozen=True)
class EvaluationConfig:
    """What is compared on which questions.

    `policies` are words that `parse_policy` knows; `structures` are those at hand; `limit` takes the first episodes; `audit`
    is a file of wrong gold answers; `max_tokens` stops the run before it spends more.
    """

    policies: tuple[str, ...] = ("all",)
    metric: str = "f1"
    structures: tuple[str, ...] = tuple(STRUCTURES)
    seed: int = 0
    limit: int | None = None
    audit: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True)
class PolicyPlan:
    """One policy on one shard. `evidence` maps the letters it reads to evidence artifacts."""

    policy: str
    shard: ShardPlan
    assignment: Assignment
    evidence: dict[str, str]
    answers: ArtifactKey
    outcomes: ArtifactKey
    support: ArtifactKey


@dataclass(frozen=True)
class Evaluation:
    """A set of policies on the same questions. `metric` is `judge`, `support` or a key of `METRICS`."""

    dataset: str
    metric: str
    settings: Settings
    build: BuildPlan
    policies: tuple[str, ...]
    plans: tuple[PolicyPlan, ...]
    judge: str

    @property
    def needs_answers(self) -> bool:
        return self.metric != SUPPORT

    @property
    def answerer(self) -> str:
        return self.settings.answerer if self.needs_answers else "none"

    def discard_errors(self, home: Home) -> None:
        """Forget answers and scores that hold errors, so that this run asks again for those (and only those) that failed."""
        for plan in self.plans:
            for key in (plan.answers, plan.outcomes):
                if (home.manifest(key) or {}).get("errors"):
                    home.discard(plan.answers)
                    home.discard(plan.outcomes)


def plan_evaluation(home: Home, dataset: str, config: EvaluationConfig, settings: Settings) -> Evaluation:
    """Plan an evaluation.

    `SettingsError` for an unknown policy or metric; `ArtifactError` when the data set is not ingested or not built.
    """
    chosen = _policies(config)
    metric = resolve_metric(config.metric, dataset)
    build = BuildPlan.of(require_dataset(home, dataset), config.structures, settings, config.limit)
    judge = make_judge(settings).name if metric == JUDGE else ""
    answerer = make_answerer(settings).name
    questions = {shard.shard: _questions(home, shard) for shard in build.shards}
    plans = tuple(
        _plan(policy.name, shard, _assign(policy, questions[shard.shard]), settings, answerer, metric, judge)
        for shard in build.shards
        for policy in chosen
    )
    require_evidence(home, dataset, config.structures, [key for plan in plans for key in plan.evidence.values()])
    return Evaluation(dataset, metric, settings, build, tuple(policy.name for policy in chosen), plans, judge)


def require_dataset(home: Home, name: str) -> Dataset:
    """The live view of a data set; `ArtifactError` when nothing has been ingested."""
    dataset = load_dataset(home, name)
    if not dataset.shards:
        raise ArtifactError(f"{name} is not in {home.url}: run `strata ingest {name}` first")
    return dataset


def _policies(config: EvaluationConfig) -> list[Policy]:
    try:
        policies = [parse_policy(name, config.structures, config.seed) for name in config.policies]
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return list({policy.name: policy for policy in policies}.values())


def _assign(policy: Policy, questions: Sequence[str]) -> Assignment:
    return tuple((question, policy.select(question)) for question in questions)


def resolve_metric(name: str, dataset: str) -> str:
    """`judge`, `support` or the key of `METRICS` that a user means. `SettingsError` for an unknown word."""
    if name in (JUDGE, SUPPORT):
        return name
    try:
        return metric_name(name, dataset)
    except ValueError as error:
        raise SettingsError(f"--metric: {error}") from error


def _questions(home: Home, plan: ShardPlan) -> list[str]:
    table = read_shard(home, plan.shard, "questions").select(["question_id", "episode_id"])
    return [row["question_id"] for row in table.to_pylist() if row["episode_id"] in plan.episodes]


def _plan(
    policy: str, shard: ShardPlan, assignment: Assignment, settings: Settings, answerer: str, metric: str, judge: str
) -> PolicyPlan:
    letters = letters_of({subset for _, subset in assignment})
    evidence = {letter: str(key) for letter, key in shard.evidence.items() if letter in letters}
    answers = answers_key(shard.shard, answerer, settings, list(evidence.values()), assignment)
    support = support_key(shard.shard, settings, list(evidence.values()), assignment)
    return PolicyPlan(
        policy, shard, assignment, evidence, answers, outcomes_key(answers, metric, judge, settings.judging), support
    )


def require_evidence(home: Home, dataset: str, structures: tuple[str, ...], keys: Sequence[str]) -> None:
    """`ArtifactError` that says what to run when an evidence table is missing."""
    needed = set(keys)
    if missing := [key for key in needed if not home.has(key)]:
        raise ArtifactError(
            f"{len(missing)} of {len(needed)} evidence tables of {dataset} are missing: "
            f"run `strata build --dataset {dataset} --structures {','.join(structures)}` with the same settings first"
        )
