"""The addresses that serve one model: how many requests each holds, and which one takes the next.

The next request goes to the address with the fewest in flight. One that says "too many requests" is left alone
until the time it names. One that fails several times running rests, twice as long each time, while the others
take its share; then a single request tries it. Where every address fails there is nothing to prefer and the
requests' own back-off does the waiting.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx2
from openai import AsyncOpenAI, DefaultAioHttpClient, Omit

from configs.settings import EndpointSettings
from tasks.llm.requests import KeyMissing

FAILURES_TO_REST = 3
FIRST_REST_S = 5.0
MAX_REST_S = 60.0
CONNECT_TIMEOUT_S = 10.0


@dataclass(eq=False)
class Address:
    """One address. Times are monotonic seconds."""

    name: str
    client: AsyncOpenAI
    headers: dict[str, str | Omit]
    """Sent with every request."""
    in_flight: int = 0
    failures: int = 0
    """Failures since its last success."""
    resting_until: float = 0.0
    paused_until: float = 0.0

    @property
    def troubled(self) -> bool:
        return self.failures >= FAILURES_TO_REST

    def succeeded(self) -> None:
        self.failures = 0

    def failed(self) -> None:
        """Note a failure; the address rests once there are too many."""
        self.failures += 1
        if self.troubled:
            rest_s = min(MAX_REST_S, FIRST_REST_S * 2 ** (self.failures - FAILURES_TO_REST))
            self.resting_until = time.monotonic() + rest_s

    def pause(self, wait_s: float) -> None:
        """Send nothing for a while: the endpoint asked for it."""
        self.paused_until = max(self.paused_until, time.monotonic() + wait_s)


class Addresses:
    """All addresses of an endpoint. Used on one event loop."""

    def __init__(self, endpoint: EndpointSettings, key: str | None) -> None:
        self._concurrency = endpoint.concurrency
        self._waiters: deque[asyncio.Future[None]] = deque()
        headers: dict[str, str | Omit] = {} if key else {"Authorization": Omit()}
        self.all = [Address(_name(url), _client(url, key, endpoint), headers) for url in endpoint.base_urls]

    @asynccontextmanager
    async def slot(self, avoid: Address | None = None) -> AsyncIterator[Address]:
        """Hold one of an address's places for a request; `avoid` is taken only if there is no other."""
        while (address := self._best(avoid)) is None:
            await self._wait()
        address.in_flight += 1
        troubled = address.troubled
        try:
            yield address
        finally:
            address.in_flight -= 1
            recovered = troubled and not address.troubled
            self._wake(len(self._waiters) if recovered else 1)

    def ready_beside(self, address: Address) -> bool:
        """Another address takes requests at the moment."""
        now = time.monotonic()
        return any(max(a.paused_until, a.resting_until) <= now for a in self.all if a is not address)

    async def close(self) -> None:
        for address in self.all:
            await address.client.close()

    def _best(self, avoid: Address | None) -> Address | None:
        now = time.monotonic()
        fit = [address for address in self.all if address.resting_until <= now] or self.all
        free = [a for a in fit if a.paused_until <= now and a.in_flight < self._places(a, now)]
        free = [address for address in free if address is not avoid] or free
        return min(free, key=lambda address: address.in_flight, default=None)

    def _places(self, address: Address, now: float) -> int:
        """A rested address gets one request on trial, unless it is the only one there is."""
        on_trial = address.troubled and address.resting_until <= now and len(self.all) > 1
        return 1 if on_trial else self._concurrency

    async def _wait(self) -> None:
        """Until a place is free, or a pause or rest ends."""
        now = time.monotonic()
        ends = [end for a in self.all for end in (a.paused_until, a.resting_until) if end > now]
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(min(ends) - now if ends else None):
                await waiter
        except TimeoutError:
            return
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._wake(1)  # it was this waiter's turn: pass it on
            raise

    def _wake(self, count: int) -> None:
        while count and self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                count -= 1


def _client(url: str, key: str | None, endpoint: EndpointSettings) -> AsyncOpenAI:
    timeout = httpx2.Timeout(endpoint.timeout_s, connect=min(CONNECT_TIMEOUT_S, endpoint.timeout_s))
    limits = httpx2.Limits(max_connections=endpoint.concurrency, max_keepalive_connections=endpoint.concurrency)
    return AsyncOpenAI(
        api_key=key or "none",
        base_url=url,
        max_retries=0,
        timeout=timeout,
        http_client=DefaultAioHttpClient(timeout=timeout, limits=limits),
    )


def _name(url: str) -> str:
    """Host and port: an address may carry a password."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


def read_key(endpoint: EndpointSettings) -> str | None:
    """The API key from the endpoint's environment variable; None where the endpoint needs none.

    Raises:
        KeyMissing: the variable is not set.
    """
    if endpoint.api_key_env is None:
        return None
    key = os.environ.get(endpoint.api_key_env, "").strip()
    if not key:
        raise KeyMissing(
            f"the environment variable {endpoint.api_key_env} is not set: export it with the API key for model "
            f"{endpoint.model!r}, or set the endpoint's api_key_env to null if it needs none"
        )
    return key
