"""Tokens, cost and the hard budget.

Before a call is sent its worst case is reserved: a token for every byte of the prompt (no byte-level tokenizer
makes more), some for the chat format, and max_tokens of completion, at the endpoint's prices. A call that could
pass the budget is not sent. After the reply the reservation is replaced by what was really used. An attempt of which
nobody can say whether it was billed (timed out, cut off, unreadable, its process killed) counts in full.

Spending lies in the store's SQLite file: the budget holds over endpoints, processes and restarts of one store.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from dataclasses import dataclass, fields
from functools import partial

from configs.settings import EndpointSettings
from tasks.llm.cache import CallStore, put_reply
from tasks.llm.requests import BudgetExceeded, ChatRequest, Reply

PER_MILLION = 1e-6
CHAT_FORMAT_TOKENS = 16
"""Allowance for what a chat template adds, once and for each message."""
POLL_S = 0.05
"""Pause before asking again whether a reservation in flight has become money."""
ROUNDING_USD = 1e-12
SETTLE_S = 10.0
"""Time after an attempt's time-out within which a living process has settled its reservation."""


@dataclass(frozen=True)
class Reservation:
    """Money set aside for one attempt. `row` is None where nothing had to be kept (no budget, or no price)."""

    usd: float
    tokens_in: int
    tokens_out: int
    row: int | None = None


@dataclass
class Counts:
    """What one client did."""

    calls: int = 0
    """Replies that were paid for."""
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    """Upper bound: attempts of unknown outcome count in full."""
    retries: int = 0
    failed: int = 0
    """Requests that got no reply."""


class Meter:
    """Counts one client's calls and keeps the store's ledger."""

    def __init__(self, endpoint: EndpointSettings, store: CallStore, budget_usd: float | None) -> None:
        self._endpoint = endpoint
        self._store = store
        self._budget_usd = budget_usd
        self._counts = Counts()
        self._counting = threading.Lock()

    def count(self, **more: float) -> None:
        """Add to the counts; from any thread."""
        with self._counting:
            for name, value in more.items():
                setattr(self._counts, name, getattr(self._counts, name) + value)

    def cost(self) -> dict[str, float]:
        """The counts by name."""
        with self._counting:
            return {field.name: float(getattr(self._counts, field.name)) for field in fields(self._counts)}

    async def reserve(self, request: ChatRequest) -> Reservation:
        """Set the worst case aside; waits while only reservations in flight stand in the way.

        Raises:
            BudgetExceeded: the call could pass the budget.
        """
        worst = self.worst_case(request)
        if self._budget_usd is None or worst.usd == 0:
            return worst
        lifetime_s = self._endpoint.timeout_s + SETTLE_S
        while True:
            write = partial(_try_reserve, worst.usd, self._budget_usd, lifetime_s)
            row, spent_usd = await asyncio.wrap_future(self._store.submit(write))
            if row is not None:
                return Reservation(worst.usd, worst.tokens_in, worst.tokens_out, row)
            if spent_usd is not None:
                raise BudgetExceeded(
                    f"budget of {self._budget_usd:g} USD: {spent_usd:.6g} are spent and the next call to "
                    f"{self._endpoint.model!r} could cost {worst.usd:.6g}. What is done is kept: raise "
                    "run.budget_usd and start again to go on."
                )
            await asyncio.sleep(POLL_S)

    async def settle(self, reservation: Reservation, key: bytes, reply: Reply) -> None:
        """Turn a reservation into what the reply used and keep the reply: one transaction."""
        usd = self._usd(reply.tokens_in, reply.tokens_out)
        await self._write(reservation, (1, reply.tokens_in, reply.tokens_out, usd), (key, reply))
        self.count(calls=1, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, usd=usd)

    async def settle_unknown(self, reservation: Reservation) -> None:
        """Book an attempt in full: it may have been billed."""
        await self._write(reservation, (0, 0, 0, reservation.usd), None)
        self.count(usd=reservation.usd)

    async def release(self, reservation: Reservation) -> None:
        """Give a reservation back: the attempt was refused unbilled."""
        if reservation.row is not None:
            await asyncio.wrap_future(self._store.submit(partial(_release, reservation.row)))

    def worst_case(self, request: ChatRequest) -> Reservation:
        """The most that one attempt can cost."""
        texts = [text for message in request.messages for text in message.values()]
        texts.append(json.dumps(request.response_format) if request.response_format else "")
        tokens_in = sum(len(text.encode()) for text in texts) + CHAT_FORMAT_TOKENS * (1 + len(request.messages))
        return Reservation(self._usd(tokens_in, request.max_tokens), tokens_in, request.max_tokens)

    def _usd(self, tokens_in: int, tokens_out: int) -> float:
        price = self._endpoint
        return PER_MILLION * (tokens_in * price.price_in_usd + tokens_out * price.price_out_usd)

    async def _write(
        self, reservation: Reservation, used: tuple[int, int, int, float], keep: tuple[bytes, Reply] | None
    ) -> None:
        model = self._endpoint.model

        def write(connection: sqlite3.Connection) -> None:
            if reservation.row is not None:
                _release(reservation.row, connection)
            if any(used):
                connection.execute(ADD_SPEND, (model, *used))
            if keep is not None:
                put_reply(connection, keep[0], model, keep[1])

        await asyncio.wrap_future(self._store.submit(write))


ADD_SPEND = """
insert into spend values (?, ?, ?, ?, ?) on conflict (model) do update set
    calls = calls + excluded.calls, tokens_in = tokens_in + excluded.tokens_in,
    tokens_out = tokens_out + excluded.tokens_out, usd = usd + excluded.usd
"""


def spent_usd(store: CallStore) -> float:
    """What a store has spent, reservations included."""
    row = store.read("select (select coalesce(sum(usd), 0) from spend) + (select coalesce(sum(usd), 0) from reserved)")
    assert row is not None
    return float(row[0])


def _try_reserve(
    usd: float, budget_usd: float, lifetime_s: float, connection: sqlite3.Connection
) -> tuple[int | None, float | None]:
    """(row, None) if reserved; (None, spent) if the budget forbids it; (None, None) if it is worth waiting."""
    now_s = time.time()
    (settled,) = connection.execute("select coalesce(sum(usd), 0) from spend").fetchone()
    live, lost = connection.execute(
        "select coalesce(sum(usd) filter (where expires_s >= ?), 0), "
        "coalesce(sum(usd) filter (where expires_s < ?), 0) from reserved",
        (now_s, now_s),
    ).fetchone()
    # A reservation outlives its attempt only if its process was killed: that money may be gone.
    spent = settled + lost
    if spent + usd > budget_usd + ROUNDING_USD:
        return None, spent
    if spent + live + usd > budget_usd + ROUNDING_USD:
        return None, None
    cursor = connection.execute("insert into reserved (usd, expires_s) values (?, ?)", (usd, now_s + lifetime_s))
    return cursor.lastrowid, None


def _release(row: int, connection: sqlite3.Connection) -> None:
    connection.execute("delete from reserved where id = ?", (row,))
