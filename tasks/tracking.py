"""MLflow: where runs are kept and how one is logged. The only module that knows MLflow.

The store is SQLite in the home unless `MLFLOW_TRACKING_URI` names another. Runs are written through explicit ids, never
through the process's active run, so that tasks in threads do not mix theirs.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storage.artifacts import Home
from storage.shards import load_dataset, writer_lock

if TYPE_CHECKING:
    from mlflow import MlflowClient


@dataclass(frozen=True)
class RunRecord:
    """What one run says. `texts` are artifacts: file name to content; `curves` are metrics with a value per step.

    Params are short; long values belong into `texts`.
    """

    name: str
    params: Mapping[str, str | int | float] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)


def tracking_uri(home: Home) -> str:
    """`MLFLOW_TRACKING_URI`, or the SQLite store of the home."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home.local('mlflow')}/mlflow.db"


def log_runs(home: Home, dataset: str, stage: str, parent: RunRecord, children: Sequence[RunRecord] = ()) -> str:
    """Log a finished run with its child runs to the experiment `strata/<dataset>/<stage>`; return the parent's id.

    Every run is tagged with the commit, the data set and the digest of its content.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    from mlflow import MlflowClient

    with writer_lock(home, "mlflow"):  # two processes that both create the database would race
        client = MlflowClient(tracking_uri(home))
        experiment = _experiment(client, home, f"strata/{dataset}/{stage}")
        tags = {"git_commit": git_commit(), "dataset": dataset, "dataset_hash": load_dataset(home, dataset).digest}
        parent_id = _log(client, experiment, parent, tags)
        for child in children:
            _log(client, experiment, child, {**tags, "mlflow.parentRunId": parent_id})
        return parent_id


def _experiment(client: MlflowClient, home: Home, name: str) -> str:
    found = client.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    if "MLFLOW_TRACKING_URI" in os.environ:
        return str(client.create_experiment(name))
    return str(client.create_experiment(name, artifact_location=home.local("mlflow", "artifacts").absolute().as_uri()))


def _log(client: MlflowClient, experiment: str, record: RunRecord, common: Mapping[str, str]) -> str:
    from mlflow.entities import Metric, Param, RunTag

    run = client.create_run(experiment, run_name=record.name).info.run_id
    now = int(time.time() * 1_000)
    metrics = [Metric(_metric_name(name), value, now, 0) for name, value in record.metrics.items()]
    params = [Param(name, str(value)) for name, value in record.params.items()]
    tags = [RunTag(name, value) for name, value in {**common, **record.tags}.items()]
    metrics += [Metric(_metric_name(n), v, now, step) for n, vs in record.curves.items() for step, v in enumerate(vs)]
    for start in range(0, len(metrics), 1_000):  # the store's limit for a batch
        client.log_batch(run, metrics=metrics[start : start + 1_000])
    client.log_batch(run, params=params, tags=tags)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in record.texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        if record.texts:
            client.log_artifacts(run, folder)
    client.set_terminated(run)
    return str(run)


def register_model(home: Home, name: str, run_id: str, alias: str) -> str:
    """Register a run's artifacts as the next version of a model and move the alias to it; return the version."""
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    with writer_lock(home, "mlflow"):
        client = MlflowClient(tracking_uri(home))
        try:
            client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        run = client.get_run(run_id)
        version = client.create_model_version(name, source=run.info.artifact_uri, run_id=run_id)
        client.set_registered_model_alias(name, alias, version.version)
    return str(version.version)


def delete_runs(dataset: str, holds: Callable[[Iterable[str]], bool]) -> list[str]:
    """Delete the runs of a data set on a tracking server outside the home whose params, tags or files `holds` tells of.

    The server keeps a deleted run until its `mlflow gc`. Returns the ids; none without `MLFLOW_TRACKING_URI`.
    """
    if "MLFLOW_TRACKING_URI" not in os.environ:
        return []
    from mlflow import MlflowClient

    client = MlflowClient(os.environ["MLFLOW_TRACKING_URI"])
    experiments = client.search_experiments(filter_string=f"name LIKE 'strata/{dataset}/%'")
    deleted, page = [], None
    while experiments:
        runs = client.search_runs([e.experiment_id for e in experiments], max_results=1_000, page_token=page)
        for run in runs:
            if holds([*run.data.params.values(), *run.data.tags.values()]) or holds(
                _artifact_texts(client, run.info.run_id)
            ):
                client.delete_run(run.info.run_id)
                deleted.append(str(run.info.run_id))
        page = runs.token
        if not page:
            break
    return deleted


def _artifact_texts(client: MlflowClient, run_id: str) -> list[str]:
    """A run's files as text, the escapes of HTML taken out."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(client.download_artifacts(run_id, "", folder))
        texts = (path.read_text(encoding="utf-8", errors="replace") for path in sorted(found.rglob("*")) if path.is_file())
        return [html.unescape(text) for text in texts]


def search_runs(home: Home, dataset: str, stage: str, metric: str, top: int) -> list[dict[str, Any]]:
    """The `top` runs of `strata/<dataset>/<stage>` by a metric, best first: name, params, metrics, tags, id, start."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri(home))
    experiment = client.get_experiment_by_name(f"strata/{dataset}/{stage}")
    if experiment is None:
        return []
    ordered = [f"metrics.`{metric}` DESC", "attributes.start_time DESC"]
    runs = client.search_runs(
        [experiment.experiment_id], f"metrics.`{metric}` > -1000000", order_by=ordered, max_results=top
    )
    return [
        {
            "run_id": run.info.run_id,
            "name": run.info.run_name,
            "started": datetime.fromtimestamp(run.info.start_time / 1_000, UTC).isoformat(timespec="seconds"),
            "params": dict(run.data.params),
            "metrics": dict(run.data.metrics),
            "tags": {name: value for name, value in run.data.tags.items() if not name.startswith("mlflow.")},
        }
        for run in runs
    ]


def _metric_name(name: str) -> str:
    """MLflow takes letters, digits and `_-. :/` in a metric's name; data brings others."""
    return re.sub(r"[^\w\-. :/]", "_", name)


@cache
def git_commit() -> str:
    """The commit of the running code, or `unknown` outside a checkout."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() or "unknown"
