"""Derived tables as cached tasks."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow.parquet as pq

from storage.artifacts import Draft, Home
from storage.shards import Shard
from storage.tables import TABLE, write_table
from tasks.artifact_task import artifact_task
from tasks.derivations import Derivation, Work


@artifact_task
def derive(
    home: Home, draft: Draft, derivation: Derivation, shard: Shard, needed: Mapping[str, str], budget_id: str = ""
) -> None:
    """Write one derived table of one shard; `needed` maps the derived tables that it is made from to their artifacts."""
    tables = {name: pq.read_table(f"{home.require(key)}/{TABLE}", filesystem=home.fs) for name, key in needed.items()}
    derived = derivation.derive(Work(home, shard, budget_id, tables))
    draft.manifest["rows"] = write_table(draft.folder / TABLE, derived.table)
    draft.manifest |= derived.notes
