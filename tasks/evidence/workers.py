"""Worker processes for extraction: bounded time, bounded memory, and nothing left behind.

A page that hangs or crashes its worker costs that worker only: it is killed, another takes its place, and the page
is tried once more with the lenient parser before it counts as failed.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import resource
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from pebble import ProcessExpired, ProcessPool

from tasks.evidence.extract import ExtractedPage, Reason, extract_page

IN_FLIGHT_PER_WORKER = 4
"""Pages that wait at a worker: enough to keep it busy, few enough to hold in memory."""
TASKS_PER_WORKER = 2_000
"""Pages after which a worker is replaced, so that leaks in native parsers stay small."""
RETRIED: tuple[Reason, ...] = ("timeout", "crashed", "error")
WORKER_MEMORY_BYTES = 6 << 30
"""Address space of a worker: parsers take up to 120 times a page's size."""


class Page:
    """A page on its way through the pool."""

    def __init__(self, sha256: str, html: str) -> None:
        self.sha256 = sha256
        self.html = html
        self.failed: Reason = ""
        """Why the first attempt failed; the second is lenient."""


def extract_all(pages: Iterable[tuple[str, str]], workers: int, timeout_s: float) -> Iterator[ExtractedPage]:
    """Extract pages (SHA-256, HTML) in worker processes, in order of completion.

    `pages` is read only as fast as results come; every page gives exactly one result. The processes start with
    the first page and end with the iterator.
    """
    waiting = (Page(sha256, html) for sha256, html in pages)
    first = next(waiting, None)
    if first is None:
        return
    pool = ProcessPool(
        max_workers=workers,
        max_tasks=TASKS_PER_WORKER,
        initializer=_begin,
        context=multiprocessing.get_context("spawn"),  # no state of this process, whose threads hold locks
    )
    running: dict[Future[ExtractedPage], Page] = {}

    def start(page: Page) -> None:
        args = (page.sha256, page.html, bool(page.failed))
        running[pool.schedule(extract_page, args=args, timeout=timeout_s)] = page

    try:
        start(first)
        while True:
            # Filled before it is asked whether anything runs: all that ran may have finished at once.
            while len(running) < workers * IN_FLIGHT_PER_WORKER and (page := next(waiting, None)) is not None:
                start(page)
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                page = running.pop(future)
                result = _result(future, page)
                if not page.failed and result.reason in RETRIED:
                    page.failed = result.reason
                    start(page)
                else:
                    yield result
    finally:
        pool.stop()
        pool.join()


def _result(future: Future[ExtractedPage], page: Page) -> ExtractedPage:
    try:
        result = future.result()
        return result.model_copy(update={"reason": page.failed}) if page.failed and result.text else result
    except TimeoutError:
        reason: Reason = "timeout"
    except ProcessExpired:
        reason = "crashed"
    except Exception:  # a parser's own error on a hostile page is a finding about the page
        reason = "error"
    return ExtractedPage(sha256=page.sha256, status="failed", reason=reason, text="")


def _begin() -> None:
    """Start of a worker: bound its memory and tie its life to the stage's."""
    resource.setrlimit(resource.RLIMIT_AS, (WORKER_MEMORY_BYTES, WORKER_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)
