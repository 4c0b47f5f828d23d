"""Replies on disk: one SQLite file for every process of a store, written by group commits.

A write is durable before anyone sees its result: one thread takes all writes that queued up while it committed the
last ones and commits them together (write-ahead log; safe against kill -9 at any moment). Reads are point
look-ups. The same file holds the ledger of :mod:`tasks.llm.meter`, so that a reply and what it cost are one
transaction: a reply is never there unpaid, nor paid twice.
"""

from __future__ import annotations

import fcntl
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from tasks.core.hashing import digest
from tasks.llm.requests import ChatRequest, Reply

Result = TypeVar("Result")
Write = Callable[[sqlite3.Connection], Result]

FILE = "calls.sqlite"
MAX_GROUP = 512
"""Writes of one transaction."""
BUSY_TIMEOUT_S = 60.0
"""Patience with another process that holds the write lock."""
SCHEMA = """
create table if not exists replies (
    key blob primary key, model text not null, reply text not null, created_s real not null
) without rowid;
create table if not exists spend (
    model text primary key, calls integer not null, tokens_in integer not null, tokens_out integer not null,
    usd real not null
);
create table if not exists reserved (id integer primary key, usd real not null, expires_s real not null);
"""


def request_key(model: str, request: ChatRequest) -> bytes:
    """Cache key, 32 bytes: what determines the reply. Neither the address nor the API key is part of it."""
    return bytes.fromhex(digest({"model": model, **request.model_dump(mode="json")}))


class CallStore:
    """The SQLite file below a store's root. Make it after a fork, never before; safe for threads and processes."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.path = root / FILE
        self._create()
        self._reader = self._connect()
        self._reading = threading.Lock()
        self._queue: queue.SimpleQueue[tuple[Write[Any], Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_groups, name="call-store", daemon=True)
        self._thread.start()

    def submit(self, write: Write[Result]) -> Future[Result]:
        """Queue a write; its future is done once it is committed. A group whose write raises is rolled back whole."""
        future: Future[Result] = Future()
        self._queue.put((write, future))
        return future

    def find(self, key: bytes) -> Reply | None:
        """The cached reply of a key."""
        row = self.read("select reply from replies where key = ?", (key,))
        return None if row is None else Reply.model_validate_json(row[0])

    def read(self, sql: str, values: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        """First row of a query on committed data."""
        with self._reading:
            row: tuple[Any, ...] | None = self._reader.execute(sql, values).fetchone()
            return row

    def close(self) -> None:
        """Commit what is queued and close the file."""
        self._queue.put(None)
        self._thread.join()
        with self._reading:
            self._reader.close()

    def _create(self) -> None:
        # Switching to the write-ahead log does not wait for other processes; this lock does.
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            connection = self._connect()
            connection.execute("pragma journal_mode = wal")
            connection.executescript(SCHEMA)
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=32
        )
        connection.execute("pragma synchronous = normal")
        return connection

    def _write_groups(self) -> None:
        connection = self._connect()
        open_ = True
        while open_:
            group: list[tuple[Write[Any], Future[Any]]] = []
            open_ = self._take(group)
            if group:
                _commit(connection, group)
        connection.close()

    def _take(self, group: list[tuple[Write[Any], Future[Any]]]) -> bool:
        """Fill a group with all that waits, at least one; False once the store closes."""
        item = self._queue.get()
        while item is not None:
            if item[1].set_running_or_notify_cancel():
                group.append(item)
            if len(group) == MAX_GROUP:
                return True
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return True
        return False


def _commit(connection: sqlite3.Connection, group: list[tuple[Write[Any], Future[Any]]]) -> None:
    try:
        connection.execute("begin immediate")
        results = [write(connection) for write, _ in group]
        connection.execute("commit")
    except Exception as error:
        if connection.in_transaction:
            connection.execute("rollback")
        for _, future in group:
            future.set_exception(error)
    else:
        for (_, future), result in zip(group, results, strict=True):
            future.set_result(result)


def put_reply(connection: sqlite3.Connection, key: bytes, model: str, reply: Reply) -> None:
    """Keep a reply; the first one of a key stays, so that a rerun repeats what was seen."""
    kept = reply.model_copy(update={"cached": True})
    connection.execute(
        "insert or ignore into replies values (?, ?, ?, ?)", (key, model, kept.model_dump_json(), time.time())
    )


def drop_replies(connection: sqlite3.Connection, keys: Sequence[bytes]) -> None:
    """Forget replies; what they cost stays in the ledger."""
    connection.executemany("delete from replies where key = ?", [(key,) for key in keys])
