"""What a command or a call costs: wall time, CPU time and peak memory. On a shared machine judge by the CPU time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Usage:
    """Seconds of wall and CPU time, the CPU's summed over all processes; `peak_mb` is that of the largest process."""

    wall_s: float
    cpu_s: float
    peak_mb: float | None = None

    def as_json(self) -> dict[str, float]:
        return {name: round(value, 3) for name, value in asdict(self).items() if value is not None}


def strata(*arguments: str) -> tuple[dict[str, Any], Usage]:
    """Run `strata ARGUMENTS --json` as a user does; its result, and what it and the Prefect server that it starts cost.

    `RuntimeError` with what it printed when it fails.
    """
    command = [sys.executable, "-m", "flows.cli", *arguments, "--json"]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)  # with the children that it waited for
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            raise RuntimeError(f"strata {' '.join(arguments)} ended with {process.returncode}:\n{errors.read()[-2_000:]}")
        result = json.load(output)
    return result, Usage(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1_024)


def measured(call: Callable[[], _T]) -> tuple[_T, Usage]:
    """The result of a call in this process and what it cost."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, Usage(time.perf_counter() - wall, time.process_time() - cpu)


def milliseconds(usages: Sequence[Usage]) -> dict[str, float]:
    """The median and the 95th percentile of wall time, and the median of CPU time, in ms."""
    wall, cpu = (sorted(times) for times in ([u.wall_s for u in usages], [u.cpu_s for u in usages]))
    return {
        "p50_ms": round(wall[len(wall) // 2] * 1_000, 3),
        "p95_ms": round(wall[int(len(wall) * 0.95)] * 1_000, 3),
        "cpu_p50_ms": round(cpu[len(cpu) // 2] * 1_000, 3),
    }
