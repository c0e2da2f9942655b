"""What an evaluation consists of: for each policy and shard, the artifacts that answer, score and measure it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from models.metrics import metric_name
from models.selector.contract import Case
from models.selector.policies import Policy
from models.selector.sandbox import Selection
from models.splits import make_split
from storage.artifacts import ArtifactError, ArtifactKey, Home
from storage.shards import Dataset, load_dataset, read_shard
from storage.structures import DEFAULT_LETTERS
from tasks.cache import Assignment, answers_key, outcomes_key, support_key
from tasks.cases import cases, episode_infos
from tasks.plan import BuildPlan, ShardPlan
from tasks.policies import SavedPolicy, choose, parse_policies
from tasks.readers import make_answerer, make_judge
from tasks.sections import letters_of
from tasks.settings import Settings, SettingsError

JUDGE, SUPPORT = "judge", "support"


@dataclass(frozen=True)
class EvaluationConfig:
    """What is compared on which questions.

    `policies` are words that `parse_policies` knows; `structures` are those at hand; `limit` takes the first episodes;
    `split` keeps the test part of that split only; `audit` is a file of wrong gold answers; `max_tokens` and
    `max_cost` stop the run before it spends more.
    """

    policies: tuple[str, ...] = ("all",)
    metric: str = "f1"
    structures: tuple[str, ...] = DEFAULT_LETTERS
    seed: int = 0
    limit: int | None = None
    split: int | None = None
    audit: str | None = None
    max_tokens: int | None = None
    max_cost: float | None = None


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
    """A set of policies on the same questions. `metric` is `judge`, `support` or a key of `METRICS`.

    `notes` say what a reader of the scores has to know.
    """

    dataset: str
    metric: str
    settings: Settings
    build: BuildPlan
    policies: tuple[str, ...]
    plans: tuple[PolicyPlan, ...]
    judge: str
    split: int | None = None
    notes: tuple[str, ...] = ()

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
    policies = parse_policies(home, dataset, config.policies, config.structures, config.seed)
    metric = resolve_metric(config.metric, dataset)
    build = BuildPlan.of(home, require_dataset(home, dataset), config.structures, settings, config.limit)
    judge = make_judge(settings).name if metric == JUDGE else ""
    answerer = make_answerer(settings).name
    test = _test_episodes(home, build, config)
    choices = [_choices(home, dataset, config, policies, shard, test) for shard in build.shards]
    plans = tuple(
        _plan(policy.name, shard, _assign(chosen[policy.name]), settings, answerer, metric, judge)
        for shard, chosen in zip(build.shards, choices, strict=True)
        for policy in policies
        if chosen[policy.name]
    )
    require_evidence(home, dataset, config.structures, [key for plan in plans for key in plan.evidence.values()])
    notes = tuple(note for policy in policies for note in _notes(policy, config, choices))
    names = tuple(policy.name for policy in policies)
    return Evaluation(dataset, metric, settings, build, names, plans, judge, config.split, notes)


def require_dataset(home: Home, name: str) -> Dataset:
    """The live view of a data set; `ArtifactError` when nothing has been ingested."""
    dataset = load_dataset(home, name)
    if not dataset.shards:
        raise ArtifactError(f"{name} is not in {home.url}: run `strata ingest {name}` first")
    return dataset


Choices = Mapping[str, Sequence[tuple[str, Selection]]]
"""By policy: what it reads for each question of a shard."""


def _test_episodes(home: Home, build: BuildPlan, config: EvaluationConfig) -> frozenset[str] | None:
    """The episodes of the split's test part; None for all."""
    return None if config.split is None else frozenset(make_split(episode_infos(home, build.shards), config.split).test)


def _choices(
    home: Home,
    dataset: str,
    config: EvaluationConfig,
    policies: Sequence[Policy | SavedPolicy],
    shard: ShardPlan,
    episodes: frozenset[str] | None,
) -> Choices:
    """What each policy reads on one shard. A saved policy sees previews of all its structures: these must be built."""
    questions = _questions(home, shard, episodes)
    found: dict[str, list[tuple[str, Selection]]] = {}
    for policy in policies:
        known: Mapping[str, Case] = {}
        if isinstance(policy, SavedPolicy):
            keys = [str(shard.evidence[letter]) for letter in policy.structures]
            require_evidence(home, dataset, config.structures, keys)
            known = cases(home, shard, policy.structures, policy.metadata)
        found[policy.name] = list(zip(questions, choose(policy, questions, known), strict=True))
    return found


def _assign(choices: Sequence[tuple[str, Selection]]) -> Assignment:
    return tuple((question, selection.subset) for question, selection in choices)


def _notes(policy: Policy | SavedPolicy, config: EvaluationConfig, choices: Sequence[Choices]) -> Iterator[str]:
    """Why a saved policy's score may mislead."""
    if not isinstance(policy, SavedPolicy):
        return
    if config.split != policy.split:
        yield (
            f"{policy.name} was searched on split {policy.split}: questions that it was fitted or chosen on are among "
            f"these; `--split {policy.split}` evaluates its test part only"
        )
    made = [selection for shard in choices for _, selection in shard[policy.name]]
    if failed := [selection for selection in made if not selection.valid]:
        yield f"{policy.name} failed on {len(failed)} of {len(made)} questions, which read everything: {failed[0].reason}"


def resolve_metric(name: str, dataset: str) -> str:
    """`judge`, `support` or the key of `METRICS` that a user means. `SettingsError` for an unknown word."""
    if name in (JUDGE, SUPPORT):
        return name
    try:
        return metric_name(name, dataset)
    except ValueError as error:
        raise SettingsError(f"--metric: {error}") from error


def _questions(home: Home, plan: ShardPlan, episodes: frozenset[str] | None) -> list[str]:
    table = read_shard(home, plan.shard, "questions").select(["question_id", "episode_id"])
    chosen = set(plan.episodes) if episodes is None else episodes.intersection(plan.episodes)
    return [row["question_id"] for row in table.to_pylist() if row["episode_id"] in chosen]


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
