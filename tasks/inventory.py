"""What a home holds: tables by name, and the status of each data set."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from storage.artifacts import Home
from storage.catalog import ExportError, Part, live_part, write_catalog
from storage.ledger import Ledger
from storage.shards import TABLES, Dataset, datasets, load_dataset
from storage.structures import STRUCTURES
from storage.tables import TABLE
from tasks.plan import BuildPlan, ShardPlan
from tasks.prices import cost
from tasks.report import latest_path
from tasks.settings import Settings

DERIVED = ("summary", "triples", "embeddings", "events")
RESULTS = ("answers", "outcomes")
EXPORTED = (*TABLES, *DERIVED, "evidence", *RESULTS)


def table_parts(home: Home, dataset: Dataset, table: str, settings: Settings, limit: int | None = None) -> list[Part]:
    """The files of a table, those that exist. `ExportError` for an unknown table."""
    if table in RESULTS:
        latest = home.read_json(latest_path(home, dataset.name)) or {}
        return [Part(f"{home.require(key)}/{TABLE}", "question_id") for key in latest.get(table, [])]
    if table not in EXPORTED:
        raise ExportError(f"there is no table {table!r}; the tables are {', '.join(EXPORTED)}")
    plan = BuildPlan.of(home, dataset, tuple(STRUCTURES), settings, limit)
    return [part for shard in plan.shards for part in _shard_parts(home, dataset, shard, table)]


def _shard_parts(home: Home, dataset: Dataset, plan: ShardPlan, table: str) -> list[Part]:
    if table in TABLES:
        path = f"{home.require(plan.shard.key)}/{table}.parquet"
        return [live_part(home, path, plan.shard, plan.episodes, "episode_id", dataset.name)]
    keys = plan.evidence.values() if table == "evidence" else [plan.derived[table][1]]
    column = "question_id" if table == "evidence" else "episode_id"
    return [
        live_part(home, f"{home.folder(key)}/{TABLE}", plan.shard, plan.episodes, column, dataset.name)
        for key in keys
        if home.has(key)
    ]


def refresh_catalog(home: Home, settings: Settings) -> None:
    """Write the DuckDB catalogue: a schema-less file of views named `<dataset>_<table>`."""
    views = {
        f"{name.replace('-', '_')}_{table}": table_parts(home, load_dataset(home, name), table, settings)
        for name in datasets(home)
        for table in EXPORTED
    }
    write_catalog(home, views)


def status(home: Home, settings: Settings) -> dict[str, Any]:
    """Data sets with their sizes, built structures and last evaluation."""
    return {
        "home": home.url,
        "datasets": [_dataset_status(home, load_dataset(home, name), settings) for name in datasets(home)],
        "ledger": ledger_json(home, settings),
    }


def ledger_json(home: Home, settings: Settings, run: str | None = None) -> list[dict[str, Any]]:
    """What language models cost by stage and model, of one run or of all; `cost` is None without a price."""
    totals = Ledger(home).totals(run)
    return [{**asdict(spent), "tokens": spent.tokens, "cost": cost(settings.prices, spent)} for spent in totals]


def _dataset_status(home: Home, dataset: Dataset, settings: Settings) -> dict[str, Any]:
    plan = BuildPlan.of(home, dataset, tuple(STRUCTURES), settings)
    report = home.read_json(home.path("corpora", dataset.name, "ingest.json")) or {}
    latest = home.read_json(latest_path(home, dataset.name)) or {}
    manifests = {str(key): home.manifest(key) for key in plan.artifacts()}
    return {
        "dataset": dataset.name,
        "episodes": len(dataset.live),
        "superseded": sum(len(shard.episodes) for shard in dataset.shards) - len(dataset.live),
        "shards": len(dataset.shards),
        "dataset_hash": dataset.digest,
        "built": {
            letter: f"{sum(manifests[str(shard.evidence[letter])] is not None for shard in plan.shards)}/{len(plan.shards)}"
            for letter in plan.structures
        },
        "tokens_spent": sum((manifest or {}).get("tokens", 0) for manifest in manifests.values()),
        "build_seconds": round(sum((manifest or {}).get("seconds", 0.0) for manifest in manifests.values()), 1),
        "warnings": report.get("warnings", {}),
        "bad_records": report.get("bad_records", []),
        "report": f"{home.folder(latest['report'])}/report.html" if latest else None,
    }
