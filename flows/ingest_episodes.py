"""Read episodes from a source into the home: `strata ingest DATASET SOURCE`."""

from __future__ import annotations

from typing import Any

from prefect import flow

from tasks.ingest import ingest_corpus
from tasks.settings import Settings


@flow(name="ingest_episodes")
def ingest_episodes(
    dataset: str,
    source: str | None = None,
    home: str = ".strata",
    settings: Settings | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    """Ingest a data set and return the report of `tasks.ingest.ingest_corpus`."""
    return ingest_corpus(home, dataset, source, settings or Settings(), limit)
