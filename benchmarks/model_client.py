"""How near the model client comes to the ideal, against a local endpoint with a fixed latency.

    python -m benchmarks.model_client [--requests 2000] [--concurrency 64] [--latency-ms 100]

The ideal is requests x latency / concurrency; the serial loop is one request after the other with the plain client of
the `openai` package. All in one run, since only ratios mean anything on a shared machine. The server runs in a process
of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from aiohttp import web
from openai import OpenAI

from configs.settings import EndpointSettings
from tasks.llm.client import ChatClient
from tasks.llm.requests import ChatRequest, Reply

SERIAL_REQUESTS = 20
REPLY = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": '{"score": 1}'}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 300, "completion_tokens": 10, "total_tokens": 310},
}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency-ms", type=float, default=100.0)
    asked = parser.parse_args()
    latency_s = asked.latency_ms / 1000
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, latency_s), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}/v1"
    try:
        serial_s = serial(url) / SERIAL_REQUESTS * asked.requests
        first_s, second_s = ours_twice(url, asked.requests, asked.concurrency)
    finally:
        server.kill()
    ideal_s = asked.requests * latency_s / asked.concurrency
    print(f"{asked.requests} requests, {asked.concurrency} in flight, {asked.latency_ms:g} ms latency")
    print(f"{'':28}{'seconds':>10}{'req/s':>10}{'x ideal':>10}")
    rows = (
        ("ideal", ideal_s),
        ("ChatClient.complete_all", first_s),
        ("the same again (cached)", second_s),
        (f"serial loop (from {SERIAL_REQUESTS})", serial_s),
    )
    for name, wall_s in rows:
        print(f"{name:28}{wall_s:10.3f}{asked.requests / wall_s:10.0f}{wall_s / ideal_s:10.2f}")


def ours_twice(url: str, count: int, concurrency: int) -> tuple[float, float]:
    """Seconds for all requests, sent and then cached. Connections are warmed up first."""
    endpoint = EndpointSettings(base_urls=(url,), model="judge", api_key_env=None, concurrency=concurrency)
    requests = [request(f"question {index}") for index in range(count)]
    with tempfile.TemporaryDirectory() as folder, ChatClient(endpoint, Path(folder)) as client:
        client.complete_all([request(f"warm-up {index}") for index in range(concurrency)])
        walls = []
        for _ in range(2):
            started = time.perf_counter()
            replies = client.complete_all(requests)
            walls.append(time.perf_counter() - started)
            assert all(isinstance(reply, Reply) for reply in replies)
        assert client.cost()["calls"] == count + concurrency
    return walls[0], walls[1]


def serial(url: str) -> float:
    """Seconds of a plain loop over SERIAL_REQUESTS requests."""
    client = OpenAI(base_url=url, api_key="none", max_retries=0)
    started = time.perf_counter()
    for index in range(SERIAL_REQUESTS):
        client.chat.completions.create(
            model="judge", messages=[{"role": "user", "content": f"serial {index}"}], max_tokens=64
        )
    return time.perf_counter() - started


def request(text: str) -> ChatRequest:
    """A request of a judge's size (about a kilobyte)."""
    return ChatRequest(messages=({"role": "user", "content": f"{text} " + "word " * 200},), max_tokens=64)


def serve(port: Connection, latency_s: float) -> None:
    """The endpoint: waits, then gives the same reply to all."""

    async def answer(asked: web.Request) -> web.Response:
        await asked.read()
        await asyncio.sleep(latency_s)
        return web.json_response(REPLY)

    async def run() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


if __name__ == "__main__":
    main()
