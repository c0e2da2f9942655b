"""One way to change shards: new shards take the place of old ones, with all that was built and answered from them.

    plan = [Group(((shard, ("e1", "e3")),))]        # what becomes one new shard
    rewrite_shards(home, dataset, plan)

Order makes it safe to be killed anywhere: new artifacts are written beside the old ones, the head is replaced in one step,
LanceDB's tables are made anew, and only then the old ones go. The same call goes on where a killed one stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storage.artifacts import Home, digest
from storage.lineage import CORPUS, ROW_KINDS, Lineage, Stored, in_order, stored
from storage.rewrite import new_shard, read_tables, write_rewritten
from storage.shards import Dataset, Shard, load_dataset, write_head, writer_lock
from storage.structures.base import BuiltShard
from storage.structures.vector import VectorStructure
from storage.tables import TABLE
from tasks.cache import ASSIGNMENT, Assignment, carried_key
from tasks.plan import vectors_uri
from tasks.report import latest_path

ANSWERED = ("answers", "outcomes")
VECTORS = "structures/V/"


@dataclass(frozen=True)
class Group:
    """What becomes one new shard: old shards with the episodes to keep of each, in order. With none the shards just go."""

    members: tuple[tuple[Shard, tuple[str, ...]], ...]

    @property
    def kept(self) -> tuple[tuple[Shard, tuple[str, ...]], ...]:
        return tuple((shard, episodes) for shard, episodes in self.members if episodes)

    @property
    def is_change(self) -> bool:
        """Whether anything about the shards changes."""
        return len(self.members) > 1 or any(len(episodes) < len(shard.episodes) for shard, episodes in self.members)


@dataclass
class Rewritten:
    """What a rewrite did: `renamed` maps the old keys to the new ones; what is not in it has no place any more."""

    renamed: dict[str, str] = field(default_factory=dict)
    shards: int = 0
    carried: int = 0
    removed: int = 0


def rewrite_shards(home: Home, dataset: str, groups: Sequence[Group]) -> Rewritten:
    """Put each group's new shard in the place of its old ones. `groups` hold every shard of the data set once, in order;
    one that is ingested meanwhile stays as it is.

    The caller holds `home_lock.alone`. What no new shard has of an artifact is gone afterwards; the old shards stay until
    `remove_old_shards`.
    """
    done = Rewritten()
    with writer_lock(home, f"corpus-{dataset}"):
        lineage = Lineage(home)
        shards: list[Shard] = []
        for group in groups:
            if not group.is_change:
                shards.extend(shard for shard, _ in group.members)
            elif group.kept:
                shards.append(_carry(home, lineage, group, done))
                done.shards += 1
        known = {shard.key for group in groups for shard, _ in group.members}
        shards.extend(shard for shard in load_dataset(home, dataset).shards if shard.key not in known)  # just ingested
        if any(group.is_change for group in groups):
            write_head(home, Dataset(dataset, tuple(shards)))
        done.removed = remove_orphans(home, dataset)
        _relink(home, dataset, done.renamed)
    return done


def _carry(home: Home, lineage: Lineage, group: Group, done: Rewritten) -> Shard:
    """Write a group's new shard and every artifact that all of its members have."""
    shard = new_shard(home, group.kept)
    kept = {old.key: episodes for old, episodes in group.kept}
    done.renamed |= dict.fromkeys(kept, shard.key)
    made = {old.key: [a for a in lineage.of_shard(old.key) if _is_whole(home, a)] for old, _ in group.kept}
    there = {a.path for old, _ in group.kept for a in lineage.of_shard(old.key)}
    alone: set[str] = set()
    for artifacts in _alike(home, made):
        sources = [(artifact, kept[old]) for old, artifact in artifacts.items()]
        first = sources[0][0]
        if len(artifacts) < len(made):  # not every member has it: answers stay by themselves, what belongs to them too
            if not (_is_answered(first) or first.inputs[0] in alone):
                continue
            alone.add(first.path)
        if any(key in there and key not in done.renamed for key in first.inputs):
            continue  # what it was made of was damaged, and is made again
        tables = read_tables(home, sources)
        if not any(rows.num_rows for rows in tables.values()):
            continue
        key = carried_key(first.key, done.renamed, _assignment(tables))
        write_rewritten(home, key, [artifact for artifact, _ in sources], tables, _links(first.manifest, done.renamed))
        done.renamed |= {artifact.path: str(key) for artifact, _ in sources}
        done.carried += 1
    return shard


def _is_whole(home: Home, artifact: Stored) -> bool:
    """A damaged artifact is not carried over: the next build makes it again."""
    return str(artifact.key) == artifact.path and home.has(artifact.path)


def _alike(home: Home, made: Mapping[str, Sequence[Stored]]) -> list[dict[str, Stored]]:
    """Artifacts of several shards that are the same thing of each, as shard key to artifact, in the order they are made in.

    Answers that cannot be told apart by what they answer with stand alone.
    """
    named: dict[str, dict[str, list[Stored]]] = {}
    for shard, artifacts in made.items():
        names = lineage_names(home, shard, artifacts) if len(made) > 1 else {a.path: a.path for a in artifacts}
        for artifact in artifacts:
            named.setdefault(names[artifact.path], {}).setdefault(shard, []).append(artifact)
    found: list[dict[str, Stored]] = []
    for by_shard in named.values():
        if all(len(artifacts) == 1 for artifacts in by_shard.values()):
            found.append({shard: artifacts[0] for shard, artifacts in by_shard.items()})
        else:
            found.extend({shard: artifact} for shard, artifacts in by_shard.items() for artifact in artifacts)
    place = {a.path: i for artifacts in made.values() for i, a in enumerate(in_order(artifacts))}
    return sorted(found, key=lambda artifacts: max((ROW_KINDS.index(a.kind), place[a.path]) for a in artifacts.values()))


def lineage_names(home: Home, shard: str, artifacts: Sequence[Stored]) -> dict[str, str]:
    """What each artifact of a shard is, whatever the shard: equal names mean the same thing made of another shard."""
    names = {shard: "shard"}
    for artifact in artifacts:
        made_of = [names.get(key, key) for key in artifact.inputs if not key.startswith(ASSIGNMENT)]
        if _is_answered(artifact):
            [table] = read_tables(home, [(artifact, _all_episodes(home, shard))]).values()
            made_of = [*sorted(made_of), *sorted(set(table.column("subset").to_pylist()))]
        key = artifact.key
        names[artifact.path] = digest([key.kind, key.name, key.version, key.config, made_of])
    return names


def _is_answered(artifact: Stored) -> bool:
    return artifact.inputs[-1].startswith(ASSIGNMENT)


def _all_episodes(home: Home, shard: str) -> list[str]:
    return [entry.rsplit(":", 1)[0] for entry in (home.manifest(shard) or {})["inputs"]]


def _assignment(tables: Mapping[str, Any]) -> Assignment:
    table = tables.get(TABLE)
    if table is None or "subset" not in table.column_names:
        return ()
    return tuple(zip(table.column("question_id").to_pylist(), table.column("subset").to_pylist(), strict=True))


def _links(manifest: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """What a manifest of answers says about where they were read from."""
    links: dict[str, Any] = {}
    if "shard" in manifest:
        links["shard"] = renamed[manifest["shard"]]
    if "evidence" in manifest:
        links["evidence"] = {letter: renamed.get(key, key) for letter, key in manifest["evidence"].items()}
    return links


def encoder_of(build: Stored) -> str:
    """The encoder of a build of V."""
    return str(build.manifest["config"]["encoder"])


def built_vectors(home: Home, build: Stored) -> BuiltShard:
    """A build of V as LanceDB takes it."""
    return BuiltShard(home.fs, home.folder(build.path), vectors_uri(home))


def _relink(home: Home, dataset: str, renamed: Mapping[str, str]) -> None:
    """Let the last evaluation point to its rows under their new keys; it goes when some of them have none."""
    path = latest_path(home, dataset)
    latest = home.read_json(path)
    if latest is None:
        return
    moved = {name: list(dict.fromkeys(renamed.get(key, key) for key in latest[name])) for name in ANSWERED}
    if all(home.has(key) for keys in moved.values() for key in keys):
        home.replace_json(path, {**latest, **moved})
    else:
        home.fs.rm_file(path)


def remove_orphans(home: Home, dataset: str) -> int:
    """Remove all that was made from shards of a data set that its head does not name; return how many artifacts.

    What was made from something goes before it, so that a killed removal leaves nothing that cannot be found again.
    """
    live = {shard.key for shard in load_dataset(home, dataset).shards}
    lineage = Lineage(home)
    orphans = lineage.orphans(dataset, live)
    _remove_vectors(home, lineage, orphans)
    for artifact in orphans:
        home.discard(artifact.path)
    return len(orphans)


def remove_old_shards(home: Home, dataset: str) -> None:
    """Remove the shards of a data set that its head does not name, once nothing is left that was made from them."""
    with writer_lock(home, f"corpus-{dataset}"):
        live = {shard.key for shard in load_dataset(home, dataset).shards}
        for artifact in list(stored(home, (CORPUS,))):
            if artifact.path.startswith(f"{CORPUS}/{dataset}/") and artifact.path not in live:
                home.discard(artifact.path)


def _remove_vectors(home: Home, lineage: Lineage, orphans: Sequence[Stored]) -> None:
    """Make the tables of LanceDB anew that hold rows of some builds: deleted rows would stay in its files."""
    gone = {artifact.path for artifact in orphans}
    builds = lineage.under(VECTORS)
    with writer_lock(home, "vectors"):
        for encoder in {encoder_of(build) for build in builds if build.path in gone}:
            kept = [b for b in builds if encoder_of(b) == encoder and b.path not in gone and home.has(b.path)]
            VectorStructure(encoder=encoder).recommit(vectors_uri(home), [built_vectors(home, b) for b in kept])
