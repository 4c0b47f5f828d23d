"""The one model client: any OpenAI-compatible chat endpoint, asynchronous inside, callable from anywhere.

A request is answered from the durable cache, or by an equal request that is in flight, or it is sent: to the address
with the fewest in flight, under the budget, with retries that obey the endpoint's headers. A reply is on disk before
the caller sees it, so nothing is paid twice after a crash.

The client keeps its own event loop on a daemon thread. Make it after a fork, never before; close it when done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from configs.settings import EndpointSettings
from tasks.llm.addresses import Address, Addresses, read_key
from tasks.llm.background import BackgroundLoop, run_bounded
from tasks.llm.cache import CallStore, drop_replies, request_key
from tasks.llm.meter import Meter, Reservation
from tasks.llm.requests import CallFailed, CallsStopped, ChatRequest, Reply
from tasks.llm.retry import Backoff, Failure, failure_of
from tasks.llm.wire import body, parse

Outcome = Reply | CallFailed
OnDone = Callable[[int, Outcome], None]
CLOSE_GRACE_S = 5.0
"""Time that requests in flight get to come back when the client closes."""
WAITING_PER_PLACE = 2
"""Requests being worked on for each place in flight: those in back-off leave their place to others."""


class ChatClient:
    """Client of one endpoint.

    Args:
        endpoint: addresses, model, prices and limits.
        store: root of the artefact store; replies and spending lie below it, shared by every client and process.
        budget_usd: bound of all spending of that store; None sets none.

    Raises:
        KeyMissing: the environment variable of the key is not set.
    """

    def __init__(self, endpoint: EndpointSettings, store: Path, budget_usd: float | None = None) -> None:
        self._endpoint = endpoint
        self._key = read_key(endpoint)
        self._store = CallStore(store)
        self._meter = Meter(endpoint, self._store, budget_usd)
        self._flights: dict[bytes, asyncio.Task[Reply]] = {}
        self._sent: set[asyncio.Task[Any]] = set()
        self._background = BackgroundLoop("chat-client")
        self._addresses = Addresses(endpoint, self._key)

    async def complete(self, request: ChatRequest) -> Reply:
        """Answer one request; from any event loop.

        Raises:
            CallFailed: no usable reply within the attempts.
            CallsStopped: no request can succeed (key, model, account or budget).
        """
        key = request_key(self._endpoint.model, request)
        if (found := self._find(key)) is not None:
            return found
        return await asyncio.wrap_future(self._background.submit(self._share(key, request)))

    def stream(self, requests: Sequence[ChatRequest]) -> Iterator[tuple[int, Outcome]]:
        """Answer requests, all in flight together; yields (index, reply or failure) as they finish.

        Synchronous, from any thread but the client's own. Equal requests are sent once. Leaving early cancels
        what has not been sent.

        Raises:
            CallsStopped: no request can succeed (key, model, account or budget).
        """
        indices: dict[bytes, list[int]] = {}
        for index, request in enumerate(requests):
            indices.setdefault(request_key(self._endpoint.model, request), []).append(index)
        misses = []
        for key, same in indices.items():
            if (found := self._find(key)) is None:
                misses.append(key)
                continue
            self._meter.count(cached=len(same) - 1)
            yield from ((index, found) for index in same)
        if misses:
            yield from self._background.stream(partial(self._send_all, requests, indices, misses))

    def complete_all(self, requests: Sequence[ChatRequest], on_done: OnDone | None = None) -> list[Outcome]:
        """Answer requests as :meth:`stream` does, in the order of the requests.

        `on_done` is called in the caller's thread with (index, outcome) as each finishes.
        """
        outcomes: dict[int, Outcome] = {}
        for index, outcome in self.stream(requests):
            outcomes[index] = outcome
            if on_done is not None:
                on_done(index, outcome)
        return [outcomes[index] for index in range(len(requests))]

    def forget(self, requests: Sequence[ChatRequest]) -> None:
        """Drop cached replies that turned out to be useless, so that the same requests are sent anew."""
        keys = [request_key(self._endpoint.model, request) for request in requests]
        self._store.submit(partial(drop_replies, keys=keys)).result()

    def cost(self) -> dict[str, float]:
        """What this client did: calls, cached, tokens_in, tokens_out, usd, retries, failed."""
        return self._meter.cost()

    def close(self) -> None:
        """Keep what comes back within CLOSE_GRACE_S, cancel the rest, close files and connections."""
        self._background.run(self._land_all())
        self._background.close()
        self._store.close()

    def __enter__(self) -> ChatClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _find(self, key: bytes) -> Reply | None:
        found = self._store.find(key)
        if found is not None:
            self._meter.count(cached=1)
        return found

    async def _send_all(
        self,
        requests: Sequence[ChatRequest],
        indices: dict[bytes, list[int]],
        keys: Sequence[bytes],
        emit: Callable[[tuple[int, Outcome]], None],
    ) -> None:
        async def answer(key: bytes) -> None:
            first, *others = indices[key]
            outcome: Outcome
            try:
                outcome = await self._share(key, requests[first])
            except CallFailed as failure:
                outcome = failure
            emit((first, outcome))
            if others:
                repeated = outcome if isinstance(outcome, CallFailed) else self._again(outcome, len(others))
                for index in others:
                    emit((index, repeated))

        jobs: Iterator[Coroutine[Any, Any, None]] = (answer(key) for key in keys)
        places = self._endpoint.concurrency * len(self._endpoint.base_urls)
        await run_bounded(jobs, min(len(keys), WAITING_PER_PLACE * places))

    async def _share(self, key: bytes, request: ChatRequest) -> Reply:
        """Send the request, or wait for the equal one in flight, which goes on even if its first caller leaves."""
        flight = self._flights.get(key)
        if flight is not None:
            return self._again(await asyncio.shield(flight), 1)
        # It may have landed since the caller's look-up, or another process may have sent it.
        if (found := self._find(key)) is not None:
            return found
        flight = asyncio.create_task(self._call(key, request))
        self._flights[key] = flight
        flight.add_done_callback(partial(self._landed, key))
        return await asyncio.shield(flight)

    def _again(self, reply: Reply, times: int) -> Reply:
        self._meter.count(cached=times)
        return reply.model_copy(update={"cached": True})

    async def _land_all(self) -> None:
        """Let what is sent come back for a moment, since it is paid for; cancel the rest."""
        for flight in set(self._flights.values()) - self._sent:
            flight.cancel()
        if self._sent:
            await asyncio.wait(self._sent, timeout=CLOSE_GRACE_S)
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
        await self._addresses.close()

    def _landed(self, key: bytes, flight: asyncio.Task[Reply]) -> None:
        del self._flights[key]
        if not flight.cancelled():
            flight.exception()  # nobody may be waiting any more

    async def _call(self, key: bytes, request: ChatRequest) -> Reply:
        backoff = Backoff(self._endpoint)
        last: Address | None = None
        while True:
            async with self._addresses.slot(avoid=last) as address:
                reservation = await self._meter.reserve(request)
                with self._sending():
                    outcome = await self._attempt(address, key, request, reservation)
            if isinstance(outcome, Reply):
                return outcome
            pause_s = backoff.pause_s(outcome, self._addresses.ready_beside(address))
            if pause_s is None:
                self._meter.count(failed=1)
                raise CallFailed(outcome.reason, f"{address.name}: {outcome.detail}")
            self._meter.count(retries=1)
            last = address
            await asyncio.sleep(pause_s)

    @contextmanager
    def _sending(self) -> Iterator[None]:
        flight = asyncio.current_task()
        assert flight is not None
        self._sent.add(flight)
        try:
            yield
        finally:
            self._sent.discard(flight)

    async def _attempt(
        self, address: Address, key: bytes, request: ChatRequest, reservation: Reservation
    ) -> Reply | Failure:
        try:
            async with asyncio.timeout(self._endpoint.timeout_s):
                content = await self._post(address, request)
            reply = parse(content, reservation.tokens_in)
        except Exception as raised:
            error = raised
        else:
            await self._meter.settle(reservation, key, reply)
            address.succeeded()
            return reply
        # Outside the handler, so that what is raised carries no chain that leads to the request and its key.
        return await self._note(error, address, reservation)

    async def _note(self, error: Exception, address: Address, reservation: Reservation) -> Failure:
        try:
            failure = failure_of(error, self._endpoint, self._without_key)
        except CallsStopped:
            await self._meter.release(reservation)
            raise
        if failure.maybe_billed:
            await self._meter.settle_unknown(reservation)
        else:
            await self._meter.release(reservation)
        if failure.address_at_fault:
            address.failed()
        wait_s = failure.server_wait_s
        # A longer wait fails the request, and would only stall the others.
        if wait_s is not None and wait_s < self._endpoint.max_wait_s:
            address.pause(wait_s)
        return failure

    async def _post(self, address: Address, request: ChatRequest) -> str:
        response = await address.client.post(
            "/chat/completions",
            body=body(self._endpoint.model, request),
            cast_to=httpx2.Response,
            options={"headers": address.headers},
        )
        return self._without_key(response.text)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text
