"""Sessions in the sandbox's worker processes: what a policy may use, and what a failure says to its author.

The pool of workers is made when it is first needed, one per process, is safe with threads, and ends with the process. A hang
that the interpreter cannot see (a power with a million digits) ends when the pool kills the worker and starts another.
"""

from __future__ import annotations

import atexit
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic_monty import (
    Monty,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySyntaxError,
    OSPolicy,
    ResourceLimits,
)

from models.selector.sandbox_driver import HEADER_LINES

_HOST_CALLS = 1_000  # a policy's tries to reach the host (each is refused), beyond the driver's own reports
_KILL_AFTER_SECONDS = 0.5  # past a time limit that the interpreter did not keep itself
_SESSIONS_PER_WORKER = 1_000
_MAX_REASON_CHARS = 300
_FROZEN = OSPolicy(datetime=datetime(2000, 1, 1), random_start={"seed": 0})
_SYNTAX_LINE = re.compile(r"(.*) \(<string>, line (\d+)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What one policy may use. Printed text is counted per question (in `fit`, per call) and thrown away.

    `select_seconds` is for a whole split of some 2,000 questions: when it is used up, the questions that are left fail.
    """

    memory_bytes: int = 256 * 2**20
    fit_seconds: float = 10.0
    select_seconds: float = 5.0
    question_seconds: float = 0.5
    sleep_seconds: float = 0.0
    output_chars: int = 10_000
    source_chars: int = 20_000
    params_chars: int = 100_000
    recursion_depth: int = 200


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a session ended early.

    `certain`: what ran last is the cause, whatever ran before it in the same session. `compiled` is False for a source that
    the interpreter refuses.
    """

    reason: str
    certain: bool
    compiled: bool = True


class Output:
    """Counts what a policy prints, and keeps nothing of it."""

    def __init__(self, max_chars: int):
        self.max_chars = max_chars
        self.chars = 0

    def __call__(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        self.chars += len(text)

    @property
    def trouble(self) -> Trouble | None:
        if self.chars <= self.max_chars:
            return None
        return Trouble(f"printed more than {self.max_chars:,} characters", certain=True)


@dataclass(frozen=True)
class Session:
    """One run in a fresh session: a program, and the time it has in all and between two reports."""

    limits: SandboxLimits
    seconds: float
    turn_seconds: float | None = None

    def run(
        self,
        program: str,
        inputs: Mapping[str, Any],
        output: Output,
        report: Callable[[Any], None] | None = None,
        reports: int = 0,
    ) -> Any | Trouble:
        """The value of the program's last expression, or what stopped it. It may call `report` `reports` times."""
        resources = ResourceLimits(
            max_memory=self.limits.memory_bytes,
            max_feed_duration_secs=self.seconds,
            max_turn_duration_secs=self.turn_seconds,
            max_total_sleep_secs=self.limits.sleep_seconds,
            max_recursion_depth=self.limits.recursion_depth,
            max_suspensions=_HOST_CALLS + reports,
        )
        functions = {"report": report} if report else {}
        try:
            with _pool().checkout(limits=resources, os_policy=_FROZEN) as session:
                return session.feed_run(program, inputs=dict(inputs), external_lookup=functions, print_callback=output)
        except MontyError as error:
            return output.trouble or self._trouble(error)

    def _trouble(self, error: MontyError) -> Trouble:
        if isinstance(error, MontySyntaxError):
            return Trouble(_syntax_reason(error), certain=True, compiled=False)
        if isinstance(error, MontyCrashedError):
            return self._late() if error.timed_out else Trouble("crashed the interpreter", certain=False)
        cause = error.exception()
        if isinstance(cause, TimeoutError):
            if str(cause).startswith("sleep"):
                return Trouble(f"slept longer than {self.limits.sleep_seconds:g} s", certain=False)
            return self._late()
        if isinstance(cause, MemoryError):
            return Trouble(f"needed more than {self.limits.memory_bytes / 2**20:g} MB of memory", certain=False)
        # The interpreter raises it for Python that it does not know. What a policy raises itself in `select` is caught there
        # (`sandbox_driver.SELECT`), and `check` and `fit` report every failure alike.
        compiled = not isinstance(cause, NotImplementedError)
        return Trouble(_runtime_reason(error), certain=False, compiled=compiled)

    def _late(self) -> Trouble:
        return Trouble(f"took longer than {self.turn_seconds or self.seconds:g} s", certain=True)


def _syntax_reason(error: MontySyntaxError) -> str:
    """`syntax error in line 3: ...`, with the line as the policy's author counts."""
    text = str(error)[:_MAX_REASON_CHARS]
    found = _SYNTAX_LINE.match(text)
    return f"syntax error in line {int(found[2]) - HEADER_LINES}: {found[1]}" if found else f"syntax error: {text}"


def _runtime_reason(error: MontyError) -> str:
    """`line 3: KeyError: ...`; only the message where the driver, not the policy, raised it."""
    lines = []
    if isinstance(error, MontyRuntimeError):
        lines = [frame.line - HEADER_LINES for frame in error.traceback() if frame.filename == "<string>"]
    if not lines:
        return str(error.exception())[:_MAX_REASON_CHARS]
    return f"line {lines[-1]}: {str(error)[:_MAX_REASON_CHARS]}"


_POOLS: dict[int, Monty] = {}  # the pool by the id of the process that made it
_LOCK = threading.Lock()


def _pool() -> Monty:
    """RuntimeError in a process forked from one with a pool: its threads are missing there, so a call would never end."""
    process = os.getpid()
    if _POOLS.keys() - {process}:
        raise RuntimeError("the sandbox does not work in a forked process: start processes with `spawn`")
    with _LOCK:
        if process not in _POOLS:
            pool = Monty(
                max_checkouts_per_worker=_SESSIONS_PER_WORKER,
                feed_duration_limit_grace=_KILL_AFTER_SECONDS,
                turn_duration_limit_grace=_KILL_AFTER_SECONDS,
            )
            _POOLS[process] = pool.__enter__()
            atexit.register(_close, process)
        return _POOLS[process]


def _close(process: int) -> None:
    """End the workers of this process; a fork that inherited the pool leaves its parent's alone."""
    if process == os.getpid():
        _POOLS.pop(process).__exit__(None, None, None)
