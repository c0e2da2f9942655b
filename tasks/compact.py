"""Compacting a data set: many small shards become few, superseded rows go, and nothing is computed or paid for again.

Neighbouring shards are merged while the same has been built of each of them (a shard that lacks a structure waits until it
has it) and the settings' size of a shard is not passed. Searches and trainings keep what they found, under the keys of the
old shards: asked for again, they run again.
"""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from storage.artifacts import Home
from storage.home_lock import alone
from storage.lineage import Lineage
from storage.shards import Shard, ShardConfig, read_shard
from tasks.evaluation import require_dataset
from tasks.inventory import refresh_catalog
from tasks.rewrite import ANSWERED, Group, lineage_names, remove_old_shards, rewrite_shards
from tasks.settings import Settings

Member = tuple[Shard, tuple[str, ...]]


def compact(home: Home, dataset: str, settings: Settings) -> dict[str, Any]:
    """Merge what can be merged; return counts. `ArtifactError` when the data set is not ingested, or in use."""
    with alone(home):
        before = require_dataset(home, dataset)
        groups = plan_groups(home, dataset, settings.shards)
        done = rewrite_shards(home, dataset, groups)
        remove_old_shards(home, dataset)
        after = require_dataset(home, dataset)
        refresh_catalog(home, settings)
    return {
        "dataset": dataset,
        "shards_before": len(before.shards),
        "shards_after": len(after.shards),
        "superseded": sum(len(shard.episodes) for shard in before.shards) - len(before.live),
        "artifacts_carried": done.carried,
        "artifacts_removed": done.removed,
    }


def plan_groups(home: Home, dataset: str, config: ShardConfig) -> list[Group]:
    """Every shard in order, neighbours together that make one shard; each with its live episodes only."""
    live = require_dataset(home, dataset)
    chosen = live.live_shards()
    lineage = Lineage(home)
    groups: list[list[Member]] = []
    last: frozenset[str] | None = None
    for shard in live.shards:
        member = shard, chosen.get(shard, ())
        made = _made(home, lineage, shard) if member[1] else last
        if groups and (not member[1] or (made == last and _fits(home, [*groups[-1], member], config))):
            groups[-1].append(member)
        else:
            groups.append([member])
            last = made
    return [Group(tuple(members)) for members in groups]


def _made(home: Home, lineage: Lineage, shard: Shard) -> frozenset[str]:
    """What has been built of a shard, and how it was cleaned and counted, under names that other shards share."""
    artifacts = [artifact for artifact in lineage.of_shard(shard.key) if artifact.kind not in ANSWERED]
    return frozenset((shard.key.split("/")[2], *lineage_names(home, shard.key, artifacts).values()))


def _fits(home: Home, members: list[Member], config: ShardConfig) -> bool:
    """Whether the live episodes of some shards make one that is not larger than ingest would make it."""
    return (
        sum(len(episodes) for _, episodes in members) <= config.max_episodes
        and sum(_chars(home, shard) for shard, episodes in members if episodes) <= config.max_chars
    )


def _chars(home: Home, shard: Shard) -> int:
    steps = read_shard(home, shard, "steps")
    texts = (steps.column(name) for name in ("action", "observation"))
    return sum(int(pc.sum(pc.utf8_length(column)).as_py() or 0) for column in texts)
