"""The whole pipeline in one flow: `strata run [DATASET] [SOURCE]`."""

from __future__ import annotations

from typing import Any

from prefect import flow

from flows.build_memory import build_memory
from flows.evaluate_policy import evaluate_policy
from flows.ingest_episodes import ingest_episodes
from tasks.evaluation import EvaluationConfig
from tasks.settings import Settings


@flow(name="run_pipeline")
def run_pipeline(
    dataset: str = "babyai",
    source: str | None = None,
    home: str = ".strata",
    evaluation: EvaluationConfig | None = None,
    settings: Settings | None = None,
) -> dict[str, Any]:
    """Ingest, build and evaluate; return the evaluation with what ingest and build did."""
    config, settings = evaluation or EvaluationConfig(), settings or Settings()
    ingested = ingest_episodes(dataset, source, home, settings, config.limit)
    built = build_memory(dataset, home, config.structures, settings, config.limit)
    return {**evaluate_policy(dataset, home, config, settings), "ingest": ingested, "build": built}
