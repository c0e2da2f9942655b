"""What a build consists of: every artifact of a data set, by key, in dependency order. Pure: nothing is run here.

plan = BuildPlan.of(home, dataset, ("T", "R"), settings)
plan.missing(home)            # keys that a build would write
plan.evidence[("R", shard)]   # the evidence table of R for a shard
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from storage.artifacts import ArtifactKey, Home
from storage.shards import Dataset, Shard
from storage.structures.base import BuiltShard, Structure
from tasks.access_models import access_id
from tasks.cache import derived_key, evidence_key, structure_key
from tasks.derivations import Derivation, QuestionVectorsDerivation
from tasks.makers import derivations
from tasks.routers import router_in_use
from tasks.settings import Settings, SettingsError


@dataclass(frozen=True)
class ShardPlan:
    """The artifacts of one shard. `question_vectors` is None when no structure needs them."""

    shard: Shard
    episodes: tuple[str, ...]
    derived: dict[str, tuple[Derivation, ArtifactKey]]
    structures: dict[str, ArtifactKey]
    evidence: dict[str, ArtifactKey]
    question_vectors: tuple[Derivation, ArtifactKey] | None

    def artifacts(self) -> Iterator[ArtifactKey]:
        """Every key of the shard, what others need first."""
        yield from (key for _, key in self.derived.values())
        if self.question_vectors is not None:
            yield self.question_vectors[1]
        yield from self.structures.values()
        yield from self.evidence.values()


@dataclass(frozen=True)
class BuildPlan:
    """The artifacts of the live shards of a data set, for the chosen structures. `router` walks H; "" means fixed rules."""

    structures: dict[str, Structure]
    shards: tuple[ShardPlan, ...]
    router: str = ""

    @classmethod
    def of(
        cls, home: Home, dataset: Dataset, letters: tuple[str, ...], settings: Settings, limit: int | None = None
    ) -> BuildPlan:
        """Plan the first `limit` live episodes (all by default); a shard is planned whole.

        The home tells which trained router is in use; nothing else of it decides the plan.
        """
        router = router_in_use(home, dataset.name, settings) if "H" in letters else ""
        structures = {letter: settings.structure(letter) for letter in letters}
        made = derivations(settings)
        live = dataset.live_shards(limit).items()
        plans = (_plan(shard, episodes, structures, made, settings, router) for shard, episodes in live)
        return cls(structures, tuple(plans), router)

    def artifacts(self) -> Iterator[ArtifactKey]:
        for plan in self.shards:
            yield from plan.artifacts()

    def missing(self, home: Home) -> list[ArtifactKey]:
        """Keys without a whole artifact in the home."""
        return [key for key in self.artifacts() if not home.has(key)]


def _plan(
    shard: Shard,
    episodes: tuple[str, ...],
    structures: dict[str, Structure],
    made: tuple[Derivation, ...],
    settings: Settings,
    router: str,
) -> ShardPlan:
    needed = _needed(structures, made)
    asks_by_vector = any(map(needs_vectors, structures.values()))
    vectors = QuestionVectorsDerivation(settings.embedder) if asks_by_vector else None
    return ShardPlan(
        shard,
        episodes,
        {d.name: (d, derived_key(d, made, shard)) for d in made if d.name in needed},
        {letter: structure_key(structure, made, shard) for letter, structure in structures.items()},
        {
            letter: evidence_key(structure, made, shard, access_id(letter, settings, router))
            for letter, structure in structures.items()
        },
        None if vectors is None else (vectors, derived_key(vectors, made, shard)),
    )


def _needed(structures: dict[str, Structure], made: tuple[Derivation, ...]) -> set[str]:
    """The derived tables that structures are built from, with those that these are made from."""
    needed = {name for structure in structures.values() for name in structure.derives}
    while more := {name for d in made if d.name in needed for name in d.needs} - needed:
        needed |= more
    if missing := needed - {d.name for d in made}:
        raise SettingsError(f"nothing makes the derived table {min(missing)!r}: name a builder and put it in built_by_model")
    return needed


def needs_vectors(structure: Structure) -> bool:
    """Whether the structure is asked by the question's vector."""
    return not {"embeddings", "events"}.isdisjoint(structure.derives)


def built(home: Home, key: str) -> BuiltShard:
    """A finished structure as its `open` wants it."""
    return BuiltShard(home.fs, home.require(key), vectors_uri(home))


def vectors_uri(home: Home) -> str:
    """Where LanceDB keeps its tables."""
    return f"{home.url}/vectors"
