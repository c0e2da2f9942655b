"""Waiting for tasks with a progress bar on a terminal, and in silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from prefect.futures import PrefectFuture, as_completed
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


def finish(label: str, futures: Sequence[PrefectFuture[Any]]) -> list[str]:
    """Wait for all futures; their states' names (`Completed`, `Cached`) in the order given. The first failure is raised.

    A failure is raised after the others are done, so that one broken shard does not throw away its neighbours' work.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task(label, total=len(futures))
        for _ in as_completed(list(futures)):
            progress.advance(bar)
    for future in futures:
        future.result()
    return [future.state.name or "" for future in futures]
