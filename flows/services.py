"""The local services of a run: Prefect server, worker and the closed world, under one home folder.

Everything listens on 127.0.0.1. What was started is written down in ``.plumbline/services.json`` with its
start time, so that `down` stops exactly those processes and never one that has taken over a number.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil
from pydantic import BaseModel

from configs.settings import WorldSettings
from tasks.core.hashing import file_digest
from tasks.core.rows import write_json

HOME = Path(".plumbline")
POOL = "plumbline"
START_TIMEOUT_S = 120.0
STOP_GRACE_S = 20.0
POLL_S = 0.2
KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
}
"""glibc keeps freed memory for the next tensor: given back and taken anew for every operation of a tiny model, page
faults are much of the training time."""


class Service(BaseModel):
    """A process that `up` started."""

    pid: int
    created: float
    """Start time as the system tells it, to recognise the process again."""
    url: str | None = None
    """Where it listens; of the worker, what it serves."""


class Services(BaseModel):
    """Addresses of a running set of services."""

    api_url: str
    world_url: str | None

    @property
    def ui_url(self) -> str:
        return self.api_url.removesuffix("/api")

    def environment(self) -> dict[str, str]:
        """Environment in which flows of these services run."""
        world = {"PLUMBLINE_WORLD_URL": self.world_url} if self.world_url else {}
        return {**os.environ, **_prefect_environment(), "PREFECT_API_URL": self.api_url, **world}


class ServiceFailed(RuntimeError):
    """A service did not start; the message ends with its log."""


def up(world: WorldSettings | None, say: Callable[[str], None]) -> Services:
    """Start what is not running yet and deploy the flows.

    Raises:
        ServiceFailed: a service did not come up within START_TIMEOUT_S.
    """
    HOME.mkdir(exist_ok=True)
    # What takes long to come up is started first and awaited last.
    world_url = _start_world(world, say) if world is not None else None
    services = Services(api_url=_start_server(say), world_url=world_url)
    deployed = _is_deployed(services)
    if not deployed:
        _prefect(services, "work-pool", "create", POOL, "--type", "process", "--overwrite")
    _start_worker(services, say)
    if not deployed:
        say("deploying the flows of prefect.yaml")
        _prefect(services, "deploy", "--all")
        _stamp(services)
    _await("worker", lambda: "started" in (HOME / "worker.log").read_text(errors="replace").lower())
    if world_url is not None:
        _await("world", lambda: _answers(f"{world_url}/healthz"))
    return services


def down(say: Callable[[str], None]) -> None:
    """Stop every service that `up` started, worker first."""
    for name in ("worker", "server", "world"):
        process = _alive(name)
        if process is not None:
            say(f"stopping {name} (process {process.pid})")
            _stop(process)
        _forget(name)


def running() -> dict[str, Service]:
    """Services that `up` started and that still run."""
    return {name: service for name, service in _read().items() if _alive(name) is not None}


def _start_server(say: Callable[[str], None]) -> str:
    configured = os.environ.get("PREFECT_API_URL")
    if configured and _answers(f"{configured}/health"):
        return configured
    known = _read().get("server")
    if known is not None and known.url and _alive("server") and _answers(f"{known.url}/health"):
        return known.url
    port = int(os.environ.get("PREFECT_SERVER_API_PORT") or _free_port())
    url = f"http://127.0.0.1:{port}/api"
    say(f"starting Prefect server at http://127.0.0.1:{port}")
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    addresses = {
        "PREFECT_API_URL": url,
        "PREFECT_UI_API_URL": url,
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    }
    _spawn("server", command, {**_prefect_environment(), **addresses}, url)
    _await("server", lambda: _answers(f"{url}/health"))
    return url


def _start_world(world: WorldSettings, say: Callable[[str], None]) -> str:
    known = _read().get("world")
    if known is not None and known.url and _alive("world") and _answers(f"{known.url}/healthz"):
        return known.url
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    say(f"starting the closed world at {url}")
    settings = HOME / "world.json"
    settings.write_text(world.model_dump_json())
    command = [sys.executable, "-m", "sandbox.service", "--port", str(port), "--world-json", str(settings)]
    _spawn("world", command, {}, url)
    return url


def _start_worker(services: Services, say: Callable[[str], None]) -> None:
    """Start a worker for these services; one that was started for others, now gone, would wait for runs forever."""
    serves = " ".join(url for url in (services.api_url, services.world_url) if url)
    old = _alive("worker")
    if old is not None:
        if _read()["worker"].url == serves:
            return
        say("the worker was started for other services: stopping it")
        _stop(old)
    say("starting the worker")
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", POOL, "--type", "process"]
    _spawn("worker", command, services.environment(), serves)


def _is_deployed(services: Services) -> bool:
    """prefect.yaml as it stands now was applied to this server."""
    stamp = HOME / "deployed"
    return stamp.exists() and stamp.read_text() == _version(services)


def _stamp(services: Services) -> None:
    (HOME / "deployed").write_text(_version(services))


def _version(services: Services) -> str:
    return f"{services.api_url} {file_digest(Path('prefect.yaml'))}"


def _prefect(services: Services, *arguments: str) -> None:
    command = [sys.executable, "-m", "prefect", "--no-prompt", *arguments]
    done = subprocess.run(command, env=services.environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ServiceFailed(f"prefect {' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")


def _prefect_environment() -> dict[str, str]:
    return {
        "PREFECT_HOME": str((HOME / "prefect").resolve()),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_WORKER_QUERY_SECONDS": "1",  # a run starts at once, not at the next of the default 10 s polls
        "OMP_WAIT_POLICY": "PASSIVE",  # idle threads of tiny models must not burn a core
        "PYTHONUNBUFFERED": "1",
        **KEEP_MEMORY,
    }


def _spawn(name: str, command: list[str], environment: dict[str, str], url: str | None) -> None:
    with (HOME / f"{name}.log").open("w") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C goes to the launcher alone, which stops services in order
        )
    services = _read()
    services[name] = Service(pid=process.pid, created=psutil.Process(process.pid).create_time(), url=url)
    _write(services)


def _await(name: str, ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not ready():
        if _alive(name) is None or time.monotonic() > deadline:
            tail = "\n".join((HOME / f"{name}.log").read_text(errors="replace").splitlines()[-20:])
            raise ServiceFailed(f"the {name} did not start; the end of {HOME / f'{name}.log'}:\n{tail}")
        time.sleep(POLL_S)


def _alive(name: str) -> psutil.Process | None:
    service = _read().get(name)
    if service is None:
        return None
    try:
        process = psutil.Process(service.pid)
        same = abs(process.create_time() - service.created) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if same else None


def _stop(process: psutil.Process) -> None:
    """End a service and all it started: asked once, asked again (a worker may need it), then killed."""
    family = [process, *process.children(recursive=True)]
    for sign in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        for member in family if sign is signal.SIGKILL else family[:1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.send_signal(sign)
        _, alive = psutil.wait_procs(family, timeout=STOP_GRACE_S / 2)
        family = [member for member in family if member in alive]
        if not family:
            return


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except (OSError, ValueError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _read() -> dict[str, Service]:
    path = HOME / "services.json"
    if not path.exists():
        return {}
    return {name: Service.model_validate(entry) for name, entry in json.loads(path.read_text()).items()}


def _write(services: dict[str, Service]) -> None:
    write_json(HOME / "services.json", {name: service.model_dump() for name, service in services.items()})


def _forget(name: str) -> None:
    services = _read()
    if services.pop(name, None) is not None:
        _write(services)
