"""Search a policy that selects what to read: `strata search --dataset NAME`."""

from __future__ import annotations

from typing import Any

from prefect import flow

from storage.artifacts import Home
from tasks.runner import thread_runner
from tasks.search import finished_sweep, read_search, search_key, search_split
from tasks.search_report import write_search_report
from tasks.selector_config import SelectorConfig
from tasks.settings import Settings


@flow(name="search_selector", task_runner=thread_runner())
def search_selector(
    dataset: str, home: str = ".strata", selector: SelectorConfig | None = None, settings: Settings | None = None
) -> dict[str, Any]:
    """Search on one split of a finished sweep; return the champion, its test result and the MLflow run."""
    store, config, settings = Home(home), selector or SelectorConfig(), settings or Settings()
    sweep = finished_sweep(store, dataset, config, settings)
    key = search_key(store, sweep, config)
    new = not store.has(key)
    search_split.submit(store, key, [], dataset, config, settings).result()
    return write_search_report(store, sweep, config, key, read_search(store, key), new)
