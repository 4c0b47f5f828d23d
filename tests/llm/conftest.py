"""A real chat endpoint on 127.0.0.1 that fails on demand."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from configs.settings import EndpointSettings
from tasks.llm.requests import ChatRequest

KEY = "sk-secret-0123456789"


@dataclass
class Fault:
    """How one request is answered: a status with a body, or a kind of damage."""

    kind: str
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def status(
    code: int, message: str = "no", headers: dict[str, str] | None = None, code_name: str | None = None
) -> Fault:
    body = {"error": {"message": message, "type": "t", "code": code_name}}
    return Fault("status", code, body, headers or {})


class FakeEndpoint:
    """Answers "echo <prompt> <seed>" with 10 prompt and 5 completion tokens, after `latency_s`.

    `faults` are consumed one a request; `always` answers every request.
    """

    def __init__(self) -> None:
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.latency_s = 0.0
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result()

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.latency_s)
            fault = self.always or (self.faults.popleft() if self.faults else None)
            return self._good(body) if fault is None else await self._bad(fault, request, body)
        finally:
            self.in_flight -= 1

    def _good(self, body: dict[str, Any]) -> web.Response:
        return web.json_response(completion(f"echo {body['messages'][-1]['content']} {body['seed']}"))

    async def _bad(self, fault: Fault, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if fault.kind == "hang":
            await asyncio.sleep(30)
        if fault.kind == "cut":
            assert request.transport is not None
            request.transport.close()
        if fault.kind == "truncated":
            text = json.dumps(completion("x"))
            return web.Response(text=text[: len(text) // 2], content_type="application/json")
        if fault.kind == "status":
            return web.json_response(fault.body, status=fault.status, headers=fault.headers)
        if fault.kind == "body":
            return web.json_response(fault.body)
        return self._good(body)


def completion(text: str | None, usage: bool = True) -> dict[str, Any]:
    reply: dict[str, Any] = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]
    }
    if usage:
        reply["usage"] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return reply


@pytest.fixture
def make_server() -> Iterator[Callable[[], FakeEndpoint]]:
    servers: list[FakeEndpoint] = []

    def make() -> FakeEndpoint:
        servers.append(FakeEndpoint())
        servers[-1].start()
        return servers[-1]

    yield make
    for server in servers:
        server.stop()


@pytest.fixture
def server(make_server: Callable[[], FakeEndpoint]) -> FakeEndpoint:
    return make_server()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, and pauses short enough for a test."""
    monkeypatch.setenv("TEST_LLM_KEY", KEY)
    monkeypatch.setattr("tasks.llm.retry.FIRST_BACKOFF_S", 0.01)
    monkeypatch.setattr("tasks.llm.retry.MAX_BACKOFF_S", 0.05)


@pytest.fixture
def settings_for() -> Callable[..., EndpointSettings]:
    def build(*servers: FakeEndpoint, **changes: Any) -> EndpointSettings:
        values: dict[str, Any] = {
            "base_urls": tuple(server.url for server in servers),
            "model": "judge-1",
            "api_key_env": "TEST_LLM_KEY",
            "concurrency": 8,
            "timeout_s": 5.0,
            "max_attempts": 4,
            "max_wait_s": 5.0,
        }
        return EndpointSettings(**{**values, **changes})

    return build


@pytest.fixture
def ask() -> Callable[..., ChatRequest]:
    def build(text: str, **more: Any) -> ChatRequest:
        return ChatRequest(messages=({"role": "user", "content": text},), **more)

    return build


@pytest.fixture
def faults() -> Any:
    """The vocabulary of faults, for tests that cannot import this file."""

    class Faults:
        hang = Fault("hang")
        cut = Fault("cut")
        truncated = Fault("truncated")

        @staticmethod
        def body(value: Any) -> Fault:
            return Fault("body", body=value)

    Faults.status = staticmethod(status)  # type: ignore[attr-defined]
    Faults.completion = staticmethod(completion)  # type: ignore[attr-defined]
    return Faults
