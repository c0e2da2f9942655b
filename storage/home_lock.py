"""Who may change the artifacts of a home: any number of stages at once, or one command that rewrites or removes them.

A stage holds the lock shared while it reads its inputs and publishes its artifact; forgetting, compacting and repairing hold
it alone. So what was planned before a shard went cannot bring it back: its stage starts after, finds its input missing and
says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import ReadWriteLock, Timeout

from storage.artifacts import ArtifactError, Home

WAIT_SECONDS = 60.0


@contextmanager
def shared(home: Home) -> Iterator[None]:
    """Hold the home's lock together with other stages; waits while a command has the home for itself."""
    with _lock(home).read_lock():
        yield


@contextmanager
def alone(home: Home, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Have the home for oneself. `ArtifactError` when stages are still running after `wait_seconds`."""
    lock = _lock(home)
    try:
        lock.acquire_write(timeout=wait_seconds)
    except Timeout as error:
        raise ArtifactError(f"{home.url} is in use by another run: try again when it has finished") from error
    try:
        yield
    finally:
        lock.release()


def _lock(home: Home) -> ReadWriteLock:
    return ReadWriteLock(home.local("locks") / "home.db")
