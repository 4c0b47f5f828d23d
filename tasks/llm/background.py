"""An event loop on a daemon thread, so that synchronous code (a trainer, a stage) can keep many requests in flight."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")
Item = TypeVar("Item")


class BackgroundLoop:
    """Runs coroutines for any thread. A forked child has no such thread: make it after the fork."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Start a coroutine on the loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the loop and wait for it.

        Raises:
            RuntimeError: called on the loop itself, which would wait for itself for ever.
        """
        self._refuse_own_thread(coroutine)
        return self.submit(coroutine).result()

    def stream(self, produce: Callable[[Callable[[Item], None]], Coroutine[Any, Any, None]]) -> Iterator[Item]:
        """Yield what a coroutine emits, in the caller's thread; leaving the loop early cancels it.

        `produce` is given the function to emit an item with. What it raises is raised here.
        """
        items: queue.SimpleQueue[tuple[Item] | None] = queue.SimpleQueue()
        coroutine = produce(lambda item: items.put((item,)))
        self._refuse_own_thread(coroutine)
        future = self.submit(coroutine)
        future.add_done_callback(lambda _: items.put(None))
        try:
            while (item := items.get()) is not None:
                yield item[0]
            future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """Cancel what runs, then stop the loop and its thread."""
        self.run(self._cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _refuse_own_thread(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("a synchronous call on the background loop itself would never return; await it instead")


async def run_bounded(jobs: Iterator[Coroutine[Any, Any, None]], workers: int) -> None:
    """Run coroutines, at most `workers` at once. The first error cancels the rest and is raised as it is."""

    async def worker() -> None:
        for job in jobs:
            await job

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(worker())
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
    else:
        return
    raise first
