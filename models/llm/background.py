"""Asynchronous work behind a synchronous call, also where the caller's thread already runs an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


class _End:
    """Follows the last item."""


def arrivals(work: Callable[[Callable[[T], None]], Awaitable[None]]) -> Generator[T, None, None]:
    """Yield what `work` hands to its argument, as it arrives. `work` runs in an event loop in a thread of its own.

    The items are consumed in the caller's thread, so a consumer needs no lock. Closing the iterator cancels the work and
    waits for its end (wrap it in `contextlib.closing`); an exception of `work` is raised here after the last item.
    """
    queue: SimpleQueue[T | _End] = SimpleQueue()
    started: SimpleQueue[Callable[[], object]] = SimpleQueue()

    async def main() -> None:
        task = asyncio.ensure_future(work(queue.put))
        loop = asyncio.get_running_loop()
        started.put(lambda: loop.call_soon_threadsafe(task.cancel))
        try:
            await task
        finally:
            queue.put(_End())

    with ThreadPoolExecutor(1, thread_name_prefix="strata-llm") as thread:
        finished = thread.submit(asyncio.run, main())
        cancel = started.get()
        try:
            while not isinstance(item := queue.get(), _End):
                yield item
        except BaseException:
            with suppress(RuntimeError):  # the loop is closed: the work has just ended by itself
                cancel()
            raise
        finished.result()
