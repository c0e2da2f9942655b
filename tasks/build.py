"""Structures as cached tasks, and the one task that commits vectors to LanceDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow.parquet as pq
from prefect import task

from storage.artifacts import Draft, Home
from storage.shards import Shard, read_shard, writer_lock
from storage.structures.base import BuildInputs, Structure
from storage.structures.vector import VectorStructure
from storage.tables import TABLE
from tasks.artifact_task import artifact_task
from tasks.plan import built


@artifact_task
def build_structure(home: Home, draft: Draft, structure: Structure, shard: Shard, derived: Mapping[str, str]) -> None:
    """Build one structure of one shard; `derived` maps a derived table's name to its artifact key."""
    tables = {name: pq.read_table(f"{home.require(key)}/{TABLE}", filesystem=home.fs) for name, key in derived.items()}
    draft.manifest["rows"] = structure.build(BuildInputs(read_shard(home, shard, "steps"), tables), draft.folder)


@task
def commit_vectors(home_url: str, structure: Structure, keys: Sequence[str]) -> int:
    """Put built vector shards into LanceDB, which takes one writer at a time; return the rows added."""
    home = Home(home_url)
    with writer_lock(home, "vectors"):
        return _vectors(structure).commit([built(home, key) for key in keys])


def vectors_committed(home: Home, structure: Structure, keys: Sequence[str]) -> bool:
    """Whether `commit_vectors` would find nothing to do. Cheap: LanceDB is not loaded."""
    return _vectors(structure).is_committed([built(home, key) for key in keys])


def _vectors(structure: Structure) -> VectorStructure:
    if not isinstance(structure, VectorStructure):
        raise TypeError(f"structure {structure.letter} keeps no vectors")
    return structure
