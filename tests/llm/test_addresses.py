from __future__ import annotations

import time
from pathlib import Path

import pytest

from tasks.llm.addresses import Addresses
from tasks.llm.client import ChatClient


def test_requests_spread_over_addresses(make_server, settings_for, ask, tmp_path: Path) -> None:
    servers = [make_server() for _ in range(3)]
    for server in servers:
        server.latency_s = 0.02
    with ChatClient(settings_for(*servers, concurrency=4), tmp_path) as client:
        client.complete_all([ask(f"q{i}") for i in range(60)])
    assert sum(len(server.bodies) for server in servers) == 60
    assert all(12 <= len(server.bodies) <= 28 for server in servers)
    assert all(server.most_in_flight <= 4 for server in servers)


def test_a_slow_address_gets_less(make_server, settings_for, ask, tmp_path: Path) -> None:
    fast, slow = make_server(), make_server()
    fast.latency_s, slow.latency_s = 0.005, 0.1
    with ChatClient(settings_for(fast, slow, concurrency=4), tmp_path) as client:
        client.complete_all([ask(f"q{i}") for i in range(100)])
    assert len(fast.bodies) > 3 * len(slow.bodies)


def test_a_failing_address_rests_and_the_others_do_its_work(make_server, settings_for, ask, faults, tmp_path) -> None:
    good, bad = make_server(), make_server()
    bad.always = faults.status(500)
    with ChatClient(settings_for(good, bad, concurrency=4), tmp_path) as client:
        replies = client.complete_all([ask(f"q{i}") for i in range(100)])
        assert client.cost()["failed"] == 0
    assert [reply.text for reply in replies] == [f"echo q{i} 0" for i in range(100)]
    assert len(bad.bodies) <= 8


def test_a_rested_address_is_tried_by_one_and_comes_back(
    make_server, settings_for, ask, faults, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.llm.addresses.FIRST_REST_S", 0.1)
    good, ill = make_server(), make_server()
    good.latency_s = ill.latency_s = 0.01
    ill.faults.extend([faults.status(503)] * 4)
    with ChatClient(settings_for(good, ill, concurrency=4), tmp_path) as client:
        client.complete_all([ask(f"q{i}") for i in range(200)])
    assert 30 < len(ill.bodies) < 110


def test_a_rate_limited_address_is_left_alone(make_server, settings_for, ask, faults, tmp_path: Path) -> None:
    good, limited = make_server(), make_server()
    limited.always = faults.status(429, headers={"Retry-After": "60"})
    with ChatClient(settings_for(good, limited, concurrency=4, max_wait_s=90), tmp_path) as client:
        started = time.monotonic()
        client.complete_all([ask("warm")])
        client.complete_all([ask(f"q{i}") for i in range(20)])
        assert client.cost()["failed"] == 0
        assert time.monotonic() - started < 30  # nobody waited the minute
    assert len(limited.bodies) <= 4


def test_names_hide_credentials(settings_for) -> None:
    settings = settings_for(base_urls=("http://user:pass@127.0.0.1:81/v1", "https://api.example.org/v1"))
    assert [address.name for address in Addresses(settings, None).all] == ["127.0.0.1:81", "api.example.org"]
