"""The closed world's service: one web application on 127.0.0.1 that speaks the real protocols.

POST /v1/chat/completions and GET /v1/models (OpenAI), GET /customsearch/v1 (Google), the pages (by Host header, by
proxy request or under /pages/<host>/), /healthz, and for tests GET/PUT/DELETE /_faults and GET/DELETE /_stats.

    python -m sandbox.service --port 0 --port-file PORT [--seed N | --world-json WORLD] [--key-env NAME]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from aiohttp import web
from pydantic import ValidationError

from configs.settings import WorldSettings
from sandbox.application import Service
from sandbox.chat import JUDGE_MODEL, ChatService
from sandbox.faults import FaultPlan, FaultPlans
from sandbox.pages import build_site
from sandbox.site import SLOW_HOST_DELAY_S
from sandbox.world import World, build_world

HOST = "127.0.0.1"
SMALL_WORLD = WorldSettings(entities=40)
"""What a LocalService holds unless told otherwise: built in milliseconds."""
SHUTDOWN_TIMEOUT_S = 0.5
"""Seconds that requests in flight (hanging ones, too) get when the service stops."""
START_TIMEOUT_S = 10.0


async def start(service: Service, port: int) -> tuple[web.AppRunner, int]:
    """Start serving on 127.0.0.1; gives the runner (whose cleanup stops it) and the port in use."""
    runner = web.AppRunner(
        service.application(), access_log=None, shutdown_timeout=SHUTDOWN_TIMEOUT_S, handler_cancellation=True
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port, backlog=1024).start()
    except OSError:
        await runner.cleanup()
        raise
    bound: int = runner.addresses[0][1]
    return runner, bound


class LocalService:
    """The service on a thread of this process, at an ephemeral port, for tests: a context manager.

    Args:
        world: settings of the world whose pages it serves.
        models: model names that the chat endpoint knows.
        key: API key that chat and search ask for; None takes any.
        slow_host_delay_s: seconds that slow hosts take.
    """

    def __init__(
        self,
        world: WorldSettings = SMALL_WORLD,
        *,
        models: tuple[str, ...] = (JUDGE_MODEL,),
        key: str | None = None,
        slow_host_delay_s: float = SLOW_HOST_DELAY_S,
    ) -> None:
        self.world: World = build_world(world)
        self.service = Service(build_site(self.world, slow_host_delay_s), ChatService(models, key))
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="closed-world", daemon=True)
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Address without a path; the chat endpoint's base URL is this and "/v1"."""
        return f"http://{HOST}:{self.port}"

    def set_faults(self, **plans: FaultPlan) -> None:
        """Put fault plans in force, by route: chat, search, pages."""
        self.service.desk.replace(FaultPlans.model_validate(plans))

    def clear_faults(self) -> None:
        """Answer well again."""
        self.service.desk.replace(FaultPlans())

    def stats(self) -> dict[str, object]:
        """The counts of GET /_stats."""
        return self.service.tally.counts()

    def __enter__(self) -> LocalService:
        self._thread.start()
        try:
            starting = asyncio.run_coroutine_threadsafe(start(self.service, 0), self._loop)
            self._runner, self.port = starting.result(START_TIMEOUT_S)
        except BaseException:
            self._stop_loop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._runner is not None:
                stopping = asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop)
                stopping.result(SHUTDOWN_TIMEOUT_S + START_TIMEOUT_S)
        finally:
            self._stop_loop()

    def _stop_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_TIMEOUT_S)
        self._loop.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; gives the exit status."""
    options = _parser().parse_args(arguments)
    try:
        settings = _world_settings(options)
        key = _key(options.key_env)
    except (OSError, ValidationError, KeyError) as error:
        print(f"closed world: {error}", file=sys.stderr)
        return 2
    chat = ChatService(tuple(options.model or (JUDGE_MODEL,)), key)
    service = Service(build_site(build_world(settings), options.slow_host_delay_s), chat)
    return asyncio.run(_serve(service, options.port, options.port_file))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sandbox.service", description="Serve the closed world.")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--port-file", type=Path, help="file that the port in use is written to, once it answers")
    world = parser.add_mutually_exclusive_group()
    world.add_argument("--world-json", type=Path, help="JSON file with the world's settings")
    world.add_argument("--seed", type=int, default=0, help="seed of a world with default settings")
    parser.add_argument("--model", action="append", help=f"model name of the chat endpoint ({JUDGE_MODEL})")
    parser.add_argument("--key-env", help="environment variable with the API key to ask for; without it any key does")
    parser.add_argument("--slow-host-delay-s", type=float, default=SLOW_HOST_DELAY_S, help="delay of slow hosts")
    return parser


def _world_settings(options: argparse.Namespace) -> WorldSettings:
    if options.world_json is None:
        return WorldSettings(seed=options.seed)
    return WorldSettings.model_validate_json(options.world_json.read_bytes())


def _key(name: str | None) -> str | None:
    if name is None:
        return None
    if not os.environ.get(name):
        raise KeyError(f"--key-env names {name}, which is not set; set it or leave --key-env out")
    return os.environ[name]


async def _serve(service: Service, port: int, port_file: Path | None) -> int:
    try:
        runner, bound = await start(service, port)
    except OSError as error:
        print(f"closed world: port {port} cannot be used ({error.strerror}); use --port 0 or free it", file=sys.stderr)
        return 1
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        if port_file is not None:
            _write_port(port_file, bound)
        print(f"closed world: http://{HOST}:{bound} ({len(service.site.pages)} pages)", flush=True)
        await stop.wait()
    finally:
        await runner.cleanup()
        if port_file is not None:
            port_file.unlink(missing_ok=True)
    return 0


def _write_port(path: Path, port: int) -> None:
    """Write the file aside and move it, so that nobody reads half a number."""
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    aside.write_text(f"{port}\n", encoding="ascii")
    os.replace(aside, path)


if __name__ == "__main__":
    sys.exit(main())
