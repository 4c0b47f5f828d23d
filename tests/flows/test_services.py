"""Services: only processes that were started here are ever stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from flows import services
from flows.services import Service


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "HOME", tmp_path)
    monkeypatch.setattr(services, "STOP_GRACE_S", 2.0)


@pytest.fixture
def sleeper() -> Iterator[psutil.Process]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()


def test_down_stops_what_was_started_and_all_below_it(sleeper: psutil.Process) -> None:
    services._write({"worker": Service(pid=sleeper.pid, created=sleeper.create_time())})
    assert set(services.running()) == {"worker"}
    told: list[str] = []
    services.down(told.append)
    assert told == [f"stopping worker (process {sleeper.pid})"]
    assert not sleeper.is_running()
    assert services.running() == {}


def test_a_process_that_took_over_the_number_is_left_alone(sleeper: psutil.Process) -> None:
    services._write({"worker": Service(pid=sleeper.pid, created=sleeper.create_time() - 100)})
    services.down(lambda _: pytest.fail("stopped a stranger"))
    assert sleeper.is_running()
    assert services._read() == {}


def test_a_service_that_dies_at_start_shows_its_log() -> None:
    services._spawn("world", [sys.executable, "-c", "print('no such port'); raise SystemExit(3)"], {}, None)
    with pytest.raises(services.ServiceFailed, match="no such port"):
        services._await("world", lambda: False)


def test_the_environment_of_flows_names_the_server_and_no_key() -> None:
    found = services.Services(api_url="http://127.0.0.1:1/api", world_url="http://127.0.0.1:2")
    environment = found.environment()
    assert environment["PREFECT_API_URL"] == "http://127.0.0.1:1/api"
    assert environment["PLUMBLINE_WORLD_URL"] == "http://127.0.0.1:2"
    assert environment["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert found.ui_url == "http://127.0.0.1:1"
    assert set(os.environ) <= set(environment)


@pytest.mark.parametrize(
    ("serves", "restarts"),
    [("http://127.0.0.1:1/api http://127.0.0.1:2", False), ("http://127.0.0.1:9/api http://127.0.0.1:2", True)],
)
def test_a_worker_of_services_that_are_gone_is_replaced(
    sleeper: psutil.Process, monkeypatch: pytest.MonkeyPatch, serves: str, restarts: bool
) -> None:
    services._write({"worker": Service(pid=sleeper.pid, created=sleeper.create_time(), url=serves)})
    spawned: list[str | None] = []
    monkeypatch.setattr(services, "_spawn", lambda *arguments: spawned.append(arguments[-1]))
    found = services.Services(api_url="http://127.0.0.1:1/api", world_url="http://127.0.0.1:2")
    services._start_worker(found, lambda _: None)
    assert spawned == (["http://127.0.0.1:1/api http://127.0.0.1:2"] if restarts else [])
    assert sleeper.is_running() is not restarts
