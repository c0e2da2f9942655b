"""Compare every way to select structures on five splits: `strata ablate selector --dataset NAME`."""

from __future__ import annotations

from typing import Any

from prefect import flow

from storage.artifacts import Home
from tasks.ablation import ablation_table, all_searches
from tasks.progress import finish
from tasks.runner import thread_runner
from tasks.search import finished_sweep, search_key, search_split
from tasks.selector_config import SelectorConfig
from tasks.settings import Settings


@flow(name="ablate_selector", task_runner=thread_runner())
def ablate_selector(
    dataset: str,
    home: str = ".strata",
    selector: SelectorConfig | None = None,
    settings: Settings | None = None,
    zero_shot: str = "",
) -> dict[str, Any]:
    """Run the searches that are missing and return the ablation table; `zero_shot` names a model for a row of its own."""
    store, config, settings = Home(home), selector or SelectorConfig(), settings or Settings()
    sweep = finished_sweep(store, dataset, config, settings)
    searches = all_searches(config)
    finish(
        "searches",
        [search_split.submit(store, search_key(store, sweep, one), [], dataset, one, settings) for one in searches],
    )
    return ablation_table(store, sweep, config, zero_shot)
