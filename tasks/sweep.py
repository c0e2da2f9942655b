"""The controlled sweep: every question under every non-empty subset of the structures (MESA, section 3.2).

What was answered before is found by its artifacts, whoever asked for them: a new episode, a new structure or a changed
structure costs its own (question, subset) pairs only, and a new judge or metric costs no answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from models.selector.subsets import SEPARATOR, all_subsets
from storage.artifacts import MANIFEST, ArtifactKey, Home
from storage.shards import read_shard
from storage.tables import TABLE
from tasks.cache import Assignment, answers_key, outcomes_key, support_key
from tasks.evaluation import JUDGE, SUPPORT, require_dataset, require_evidence, resolve_metric
from tasks.plan import BuildPlan, ShardPlan
from tasks.readers import make_answerer, make_judge
from tasks.selector_config import SweepConfig
from tasks.settings import Settings

ADVERSARIAL = "adversarial"
"""Left out of the sweep, as in the paper: their gold is abstention, whatever is read."""

Pair = tuple[str, str]
"""(question id, subset)."""


@dataclass(frozen=True)
class SweepShard:
    """One shard of a sweep: the pairs it wants, those not answered yet, and where the others are.

    `key` is the artifact that would hold the missing pairs, `whole` the one that would hold all: it names what was wanted,
    wherever it is found. `found` maps a pair to the artifact that has it.
    """

    shard: ShardPlan
    wanted: Assignment
    missing: Assignment
    key: ArtifactKey
    whole: ArtifactKey
    evidence: dict[str, str]
    found: dict[Pair, str]

    def sources(self) -> dict[Pair, str]:
        """The artifact of every wanted pair, once the missing ones are done."""
        return {**self.found, **dict.fromkeys(self.missing, str(self.key))}


@dataclass(frozen=True)
class Sweep:
    """A planned sweep. `metric` is `judge`, `support` or a key of `METRICS`."""

    dataset: str
    metric: str
    settings: Settings
    subsets: tuple[str, ...]
    shards: tuple[SweepShard, ...]
    judge: str

    @property
    def needs_answers(self) -> bool:
        return self.metric != SUPPORT

    @property
    def questions(self) -> int:
        return len({question for shard in self.shards for question, _ in shard.wanted})

    @property
    def missing(self) -> int:
        return sum(len(shard.missing) for shard in self.shards)

    def outcomes_of(self, key: str) -> str:
        """The artifact with the scores of an artifact of answers; support artifacts hold their own."""
        if not self.needs_answers:
            return key
        return str(outcomes_key(key, self.metric, self.judge, self.settings.judging))

    def errors(self, home: Home) -> int:
        """How many of the outcomes are errors of the answerer or the judge."""
        keys = {self.outcomes_of(key) for _, key in self.answer_keys()}
        return sum((home.manifest(key) or {}).get("errors", 0) for key in keys)

    def discard_errors(self, home: Home) -> None:
        """Forget answers and scores that hold errors, so that a sweep asks again for those (and only those) that failed."""
        for _, key in self.answer_keys():
            for name in (self.outcomes_of(key), key):
                if (home.manifest(name) or {}).get("errors"):
                    home.discard(self.outcomes_of(key))
                    home.discard(name)

    def answer_keys(self) -> list[tuple[SweepShard, str]]:
        """Each artifact of answers that the sweep reads, with its shard."""
        return [(shard, key) for shard in self.shards for key in dict.fromkeys(shard.sources().values())]


def plan_sweep(home: Home, dataset: str, config: SweepConfig, settings: Settings, retry: bool = True) -> Sweep:
    """Plan a sweep; raises as `tasks.evaluation.plan_evaluation` does. With `retry`, answers that are errors are missing."""
    metric = resolve_metric(config.metric, dataset)
    build = BuildPlan.of(home, require_dataset(home, dataset), config.structures, settings, config.limit)
    require_evidence(
        home, dataset, config.structures, [str(key) for shard in build.shards for key in shard.evidence.values()]
    )
    subsets = tuple(all_subsets(config.structures))
    name = "" if metric == SUPPORT else make_answerer(settings).name
    shards = tuple(_plan(home, shard, config, subsets, settings, name, retry) for shard in build.shards)
    return Sweep(dataset, metric, settings, subsets, shards, make_judge(settings).name if metric == JUDGE else "")


def _plan(
    home: Home,
    shard: ShardPlan,
    config: SweepConfig,
    subsets: Sequence[str],
    settings: Settings,
    answerer: str,
    retry: bool,
) -> SweepShard:
    evidence = {letter: str(key) for letter, key in shard.evidence.items()}
    wanted = tuple((q, s) for q in _questions(home, shard, config) for s in in_prefix_order(subsets, settings.compose.order))

    def key(assignment: Assignment) -> ArtifactKey:
        keys = list(evidence.values())
        if answerer:
            return answers_key(shard.shard, answerer, settings, keys, assignment)
        return support_key(shard.shard, settings, keys, assignment)

    found = _found(home, key(()), shard.shard.key, evidence, retry)
    missing = tuple(pair for pair in wanted if pair not in found)
    there = {pair: found[pair] for pair in wanted if pair in found}
    return SweepShard(shard, wanted, missing, key(missing), key(wanted), evidence, there)


def _questions(home: Home, plan: ShardPlan, config: SweepConfig) -> list[str]:
    """The questions to sweep, an episode's together, so that a server reuses what their prompts share."""
    table = read_shard(home, plan.shard, "questions").select(["question_id", "episode_id", "capability"])
    chosen = set(plan.episodes) & set(config.episodes or plan.episodes)
    return [r["question_id"] for r in table.to_pylist() if r["episode_id"] in chosen and r["capability"] != ADVERSARIAL]


def in_prefix_order(subsets: Sequence[str], order: Sequence[str]) -> list[str]:
    """Subsets so that prompts with a common beginning stand next to each other: depth first through the trie of sections."""
    rank = {letter: i for i, letter in enumerate(order)}
    return sorted(subsets, key=lambda subset: sorted(rank[letter] for letter in subset.split(SEPARATOR)))


def _found(home: Home, sibling: ArtifactKey, shard: str, evidence: Mapping[str, str], retry: bool) -> dict[Pair, str]:
    """The pairs in finished artifacts of the same shard, answerer and settings whose evidence is today's.

    An artifact with errors counts only without `retry`, and only for pairs that no other has.
    """
    folder = str(sibling).rsplit("/", 1)[0]
    pairs: dict[Pair, str] = {}
    faulty: dict[Pair, str] = {}
    for path in sorted(home.fs.glob(home.path(folder, "*", MANIFEST))):
        key = "/".join((folder, path.split("/")[-2]))
        manifest = json.loads(home.fs.cat_file(path))
        if manifest.get("shard") != shard or (retry and manifest.get("errors")) or not home.has(key):
            continue
        same = {letter for letter, source in manifest["evidence"].items() if evidence.get(letter) == source}
        mine = {pair: key for pair in _pairs(home, key) if set(pair[1].split(SEPARATOR)) <= same}
        (faulty if manifest.get("errors") else pairs).update(mine)
    return faulty | pairs


def _pairs(home: Home, key: str) -> Iterable[Pair]:
    table = pq.read_table(f"{home.folder(key)}/{TABLE}", filesystem=home.fs, columns=["question_id", "subset"])
    return zip(table.column("question_id").to_pylist(), table.column("subset").to_pylist(), strict=True)


def sweep_rows(home: Home, sweep: Sweep) -> list[dict[str, Any]]:
    """The outcomes of a finished sweep, one row per (question, subset), shard by shard in the order of the plan."""
    rows: list[dict[str, Any]] = []
    for shard in sweep.shards:
        sources = shard.sources()
        tables = {key: _by_pair(home, sweep.outcomes_of(key)) for key in dict.fromkeys(sources.values())}
        rows.extend(tables[sources[pair]][pair] for pair in shard.wanted)
    return rows


def _by_pair(home: Home, key: str) -> dict[Pair, dict[str, Any]]:
    table = pq.read_table(f"{home.require(key)}/{TABLE}", filesystem=home.fs)
    return {(row["question_id"], row["subset"]): row for row in table.to_pylist()}
