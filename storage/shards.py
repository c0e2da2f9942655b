"""Which episodes a home holds: shards, and the head file that says which of them are live.

A shard is an immutable artifact `corpus/<dataset>/...` with the tables `episodes`, `steps` and `questions` of a few
episodes. `corpora/<dataset>/head.json` lists the shards in the order of their ingest; an episode's live row is the one in
the last shard that has it. So an unchanged episode keeps its shard, and a changed one moves to a new shard and supersedes
its old row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from storage.artifacts import ArtifactKey, Home, digest
from storage.records import Episode, content_hash
from storage.tables import CountTokens, episode_tables, write_table

VERSION = 1
TABLES = ("episodes", "steps", "questions")


@dataclass(frozen=True)
class ShardConfig:
    """When a shard is full. The unit of a task is a builder times a shard, so a shard holds seconds of work, not days."""

    max_episodes: int = 32
    max_chars: int = 8_000_000


@dataclass(frozen=True)
class Shard:
    """One shard of a data set: its artifact's key, and the episodes in it with their content hashes."""

    key: str
    episodes: Mapping[str, str] = field(hash=False)

    @property
    def dataset(self) -> str:
        """The data set's name: the second part of the key."""
        return self.key.split("/")[1]

    @property
    def name(self) -> str:
        """The last part of the key: short, unique, what the column `shard` holds."""
        return self.key.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Dataset:
    """The live view of an ingested data set."""

    name: str
    shards: tuple[Shard, ...] = ()

    @property
    def live(self) -> dict[str, Shard]:
        """Episode id to the shard with its live row, in the order of ingest."""
        last = {episode: shard for shard in self.shards for episode in shard.episodes}
        return {episode: shard for shard in self.shards for episode in shard.episodes if last[episode] is shard}

    @property
    def digest(self) -> str:
        """Names the content of the live view (16 hex digits)."""
        return digest(sorted((episode, shard.episodes[episode]) for episode, shard in self.live.items()))

    def live_shards(self, limit: int | None = None) -> dict[Shard, tuple[str, ...]]:
        """Each shard that holds a live episode with its live episodes, up to `limit` episodes in all."""
        chosen: dict[str, list[str]] = {}
        for episode, shard in list(self.live.items())[:limit]:
            chosen.setdefault(shard.key, []).append(episode)
        return {shard: tuple(chosen[shard.key]) for shard in self.shards if shard.key in chosen}


@dataclass
class IngestCounts:
    """What an ingest found. Every episode read is in exactly one of the four counts or among `conflicts`."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    duplicate: int = 0
    conflicts: list[str] = field(default_factory=list)
    capabilities: Counter[str] = field(default_factory=Counter)
    episodes: int = 0
    steps: int = 0
    questions: int = 0
    shards: list[str] = field(default_factory=list)

    def see(self, episode: Episode) -> None:
        """Count an episode that stays in the data set."""
        self.episodes += 1
        self.steps += len(episode.steps)
        self.questions += len(episode.questions)
        self.capabilities.update(q.capability for q in episode.questions)


def head_path(home: Home, dataset: str) -> str:
    """The mutable file that names the shards of a data set."""
    return home.path("corpora", dataset, "head.json")


def load_dataset(home: Home, dataset: str) -> Dataset:
    """The live view; a data set without shards when nothing has been ingested."""
    head = home.read_json(head_path(home, dataset))
    shards = () if head is None else tuple(Shard(s["key"], s["episodes"]) for s in head["shards"])
    return Dataset(dataset, shards)


def write_head(home: Home, dataset: Dataset) -> None:
    """Make these shards the data set, in one atomic step. The caller holds the writer lock `corpus-<dataset>`."""
    shards = [{"key": shard.key, "episodes": dict(shard.episodes)} for shard in dataset.shards]
    home.replace_json(head_path(home, dataset.name), {"dataset": dataset.name, "shards": shards})


def datasets(home: Home) -> list[str]:
    """Names of the ingested data sets."""
    found = home.fs.glob(home.path("corpora", "*", "head.json"))
    return sorted(path.split("/")[-2] for path in found)


def read_shard(home: Home, shard: Shard, table: str) -> pa.Table:
    """The table `episodes`, `steps` or `questions` of a shard, superseded rows included."""
    with home.fs.open(f"{home.require(shard.key)}/{table}.parquet", "rb") as file:
        return pq.read_table(file)


@contextmanager
def writer_lock(home: Home, name: str) -> Iterator[None]:
    """One writer at a time for a mutable file or table of the home, across processes of this machine."""
    with FileLock(home.local("locks") / f"{name}.lock"):
        yield


def ingest(
    home: Home,
    dataset: str,
    episodes: Iterable[Episode],
    config: ShardConfig,
    key_config: object,
    count_tokens: CountTokens,
) -> IngestCounts:
    """Add episodes to a data set, shard by shard, and return the counts.

    The head is replaced after each shard, so that an interrupted ingest goes on where it stopped. `key_config` is whatever
    shaped the episodes on their way here (cleaning rules, tokenizer) and belongs into the shard's key.
    """
    counts = IngestCounts()
    pending: list[Episode] = []
    seen: dict[str, str] = {}
    home.sweep_drafts()
    with writer_lock(home, f"corpus-{dataset}"):
        live = {episode: shard.episodes[episode] for episode, shard in load_dataset(home, dataset).live.items()}
        for episode in episodes:
            checksum = content_hash(episode)
            if episode.episode_id in seen:
                _count_repeat(counts, episode, same=seen[episode.episode_id] == checksum)
                continue
            seen[episode.episode_id] = checksum
            counts.see(episode)
            if live.get(episode.episode_id) == checksum:
                counts.unchanged += 1
                continue
            counts.changed += episode.episode_id in live
            counts.new += episode.episode_id not in live
            pending.append(episode)
            if _is_full(pending, config):
                counts.shards.append(_add_shard(home, dataset, pending, seen, key_config, count_tokens))
                pending = []
        if pending:
            counts.shards.append(_add_shard(home, dataset, pending, seen, key_config, count_tokens))
    return counts


def _count_repeat(counts: IngestCounts, episode: Episode, same: bool) -> None:
    if same:
        counts.duplicate += 1
    else:
        counts.conflicts.append(episode.episode_id)


def _is_full(pending: Sequence[Episode], config: ShardConfig) -> bool:
    chars = sum(len(step.action) + len(step.observation) for episode in pending for step in episode.steps)
    return len(pending) >= config.max_episodes or chars >= config.max_chars


def _add_shard(
    home: Home,
    dataset: str,
    pending: Sequence[Episode],
    seen: Mapping[str, str],
    key_config: object,
    count_tokens: CountTokens,
) -> str:
    hashes = {episode.episode_id: seen[episode.episode_id] for episode in pending}
    key = ArtifactKey("corpus", dataset, VERSION, key_config, tuple(f"{e}:{h}" for e, h in hashes.items()))
    if not home.has(key):
        with home.write(key) as draft:
            name = str(key).rsplit("/", 1)[-1]
            for table, rows in episode_tables(pending, hashes, name, count_tokens).items():
                draft.manifest[table] = write_table(draft.folder / f"{table}.parquet", rows)
    write_head(home, Dataset(dataset, (*load_dataset(home, dataset).shards, Shard(str(key), hashes))))
    return str(key)
