"""Derived tables as cached tasks."""

from __future__ import annotations

from storage.artifacts import Draft, Home
from storage.shards import Shard
from storage.tables import TABLE, write_table
from tasks.artifact_task import artifact_task
from tasks.derivations import Derivation


@artifact_task
def derive(home: Home, draft: Draft, derivation: Derivation, shard: Shard) -> None:
    """Write one derived table of one shard."""
    draft.manifest["rows"] = write_table(draft.folder / TABLE, derivation.table(home, shard))
