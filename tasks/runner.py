"""Where tasks run."""

from __future__ import annotations

import os
from typing import Any

from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner


def thread_runner() -> TaskRunner[PrefectFuture[Any]]:
    """Threads of this process, one per core: builders release the interpreter in DuckDB, Arrow, Lance, torch and I/O."""
    runner: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=os.cpu_count() or 2)
    return runner
