"""Reading a corpus into shards, as one task per source: shards are assigned by one writer."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from itertools import islice
from typing import Any

from prefect import task

from models.tokens import TOKENIZER, count_tokens
from storage.artifacts import Home
from storage.corpora.base import ReadReport
from storage.sanitize import sanitize
from storage.shards import IngestCounts, ingest
from tasks.settings import Settings


@task
def ingest_corpus(home_url: str, dataset: str, source: str | None, settings: Settings, limit: int | None) -> dict[str, Any]:
    """Read `source` into the home and return the ingest report, which is also kept beside the data set's head.

    `CorpusError` when nothing can be read. Records that cannot be read are listed under `bad_records`.
    """
    home = Home(home_url)
    report, cleaned = ReadReport(), Counter[str]()
    episodes = (sanitize(e, settings.sanitize, cleaned) for e in settings.corpus(dataset).read(source, report))
    key_config = {"sanitize": asdict(settings.sanitize), "tokenizer": TOKENIZER}
    counts = ingest(home, dataset, islice(episodes, limit), settings.shards, key_config, count_tokens)
    result = _summary(dataset, counts, report, cleaned)
    home.replace_json(home.path("corpora", dataset, "ingest.json"), result)
    return result


def _summary(dataset: str, counts: IngestCounts, report: ReadReport, cleaned: Counter[str]) -> dict[str, Any]:
    conflicts = [f"episode {e} comes twice with different content; the first is kept" for e in counts.conflicts]
    return {
        "dataset": dataset,
        "episodes": counts.episodes,
        "steps": counts.steps,
        "questions": counts.questions,
        "capabilities": dict(counts.capabilities),
        "new": counts.new,
        "changed": counts.changed,
        "unchanged": counts.unchanged,
        "duplicate": counts.duplicate,
        "shards": counts.shards,
        "warnings": dict(sorted(report.warnings.items())),
        "cleaned": dict(sorted(cleaned.items())),
        "bad_records": [*map(str, report.bad_records), *conflicts],
    }
