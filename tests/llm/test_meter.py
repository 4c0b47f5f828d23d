from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tasks.llm.cache import CallStore
from tasks.llm.client import ChatClient
from tasks.llm.meter import Meter, spent_usd
from tasks.llm.requests import BudgetExceeded, CallFailed

ROOT = Path(__file__).parents[2]
SPENDER = """
import sys
from pathlib import Path
from configs.settings import EndpointSettings
from tasks.llm.client import ChatClient
from tasks.llm.requests import BudgetExceeded, ChatRequest

settings = EndpointSettings.model_validate_json(sys.argv[1])
client = ChatClient(settings, Path(sys.argv[2]), budget_usd=float(sys.argv[3]))
requests = [ChatRequest(messages=({"role": "user", "content": f"{sys.argv[4]} {i}"},)) for i in range(10_000)]
try:
    client.complete_all(requests)
except BudgetExceeded:
    client.close()
    print(int(client.cost()["calls"]))
    sys.exit(7)
"""
# Ten prompt and five completion tokens a reply (conftest) at these prices are 10 + 10 = 20 micro-dollars; a request of
# one letter and max_tokens 5 reserves 1 + 4 ("user") + 2 x 16 prompt tokens: 37 + 10 = 47 micro-dollars at worst.
PRICES = {"price_in_usd": 1.0, "price_out_usd": 2.0}


def spend(settings: Any, folder: Path, budget_usd: float, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SPENDER, settings.model_dump_json(), str(folder), str(budget_usd), name]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_worst_case_and_settled_cost(server, settings_for, ask, tmp_path: Path) -> None:
    settings = settings_for(server, **PRICES)
    store = CallStore(tmp_path)
    worst = Meter(settings, store, None).worst_case(ask("q", max_tokens=5))
    store.close()
    assert (worst.tokens_in, worst.tokens_out) == (37, 5)
    assert worst.usd == pytest.approx(47e-6)
    with ChatClient(settings, tmp_path, budget_usd=1.0) as client:
        client.complete_all([ask("a"), ask("b"), ask("a")])
        assert client.cost()["usd"] == pytest.approx(40e-6)
        client.complete_all([ask("a")])
        assert client.cost()["usd"] == pytest.approx(40e-6)
        assert spent_usd(client._store) == pytest.approx(40e-6)


def test_the_budget_stops_before_it_is_passed(server, settings_for, ask, tmp_path: Path) -> None:
    # 220 microdollars: nine calls are 180, a tenth could cost 47 more.
    settings = settings_for(server, **PRICES)
    requests = [ask(letter, max_tokens=5) for letter in "abcdefghijklmnop"]
    with (
        ChatClient(settings, tmp_path, budget_usd=220e-6) as client,
        pytest.raises(BudgetExceeded, match=r"run\.budget_usd"),
    ):
        client.complete_all(requests)
    assert len(server.bodies) == 9
    with ChatClient(settings, tmp_path, budget_usd=220e-6) as client:  # a restart starts from what was spent
        done = [body["messages"][0]["content"] for body in server.bodies]
        assert all(reply.cached for reply in client.complete_all([ask(letter, max_tokens=5) for letter in done]))
        with pytest.raises(BudgetExceeded):
            client.complete_all([ask("z", max_tokens=5)])
        assert spent_usd(client._store) == pytest.approx(180e-6)
    with ChatClient(settings, tmp_path, budget_usd=227.1e-6) as client:
        assert client.complete_all([ask("z", max_tokens=5)])[0].text == "echo z 0"


def test_free_endpoints_need_no_budget(server, settings_for, ask, tmp_path: Path) -> None:
    with ChatClient(settings_for(server), tmp_path, budget_usd=0.0) as client:
        assert client.complete_all([ask("q")])[0].text == "echo q 0"


@pytest.mark.parametrize(("name", "micro_usd"), [("500", 0), ("400", 0), ("429", 0), ("truncated", 47), ("hang", 47)])
def test_what_a_failed_attempt_costs(
    name: str, micro_usd: float, server, settings_for, ask, faults, tmp_path: Path
) -> None:
    named = {"truncated": faults.truncated, "hang": faults.hang}
    server.always = named.get(name) or faults.status(int(name))
    settings = settings_for(server, max_attempts=1, timeout_s=0.2, **PRICES)
    with ChatClient(settings, tmp_path, budget_usd=1.0) as client:
        (failure,) = client.complete_all([ask("q", max_tokens=5)])
        assert isinstance(failure, CallFailed)
        assert client.cost()["usd"] == pytest.approx(micro_usd * 1e-6)
        assert spent_usd(client._store) == pytest.approx(micro_usd * 1e-6)


def test_a_reply_without_usage_counts_as_its_upper_bound(server, settings_for, ask, faults, tmp_path: Path) -> None:
    server.faults.append(faults.body(faults.completion("ééé", usage=False)))
    with ChatClient(settings_for(server, **PRICES), tmp_path) as client:
        (reply,) = client.complete_all([ask("q")])
    assert (reply.tokens_in, reply.tokens_out) == (37, 6)


def test_reservations_in_flight_are_waited_for_and_lost_ones_count(settings_for, ask, tmp_path: Path) -> None:
    store = CallStore(tmp_path)
    settings = settings_for(base_urls=("http://127.0.0.1:9/v1",), **PRICES)
    meter = Meter(settings, store, 50e-6)

    async def wait_for_release() -> float:
        first = await meter.reserve(ask("q", max_tokens=5))
        started = time.monotonic()
        asyncio.get_running_loop().call_later(0.2, lambda: asyncio.ensure_future(meter.release(first)))
        await meter.release(await meter.reserve(ask("r", max_tokens=5)))
        return time.monotonic() - started

    assert asyncio.run(wait_for_release()) >= 0.19
    store.submit(lambda db: db.execute("insert into reserved values (99, 10e-6, 0)") and None).result()
    with pytest.raises(BudgetExceeded):
        asyncio.run(meter.reserve(ask("q", max_tokens=5)))
    store.close()


@pytest.mark.slow
def test_two_processes_share_one_budget(server, settings_for, tmp_path: Path) -> None:
    server.latency_s = 0.002
    settings = settings_for(server, **PRICES)
    processes = [spend(settings, tmp_path, 0.02, name) for name in ("a", "b")]
    calls = [int(process.communicate()[0]) for process in processes]
    assert [process.returncode for process in processes] == [7, 7]
    store = CallStore(tmp_path)
    spent = spent_usd(store)
    assert store.read("select count(*) from reserved") == (0,)
    store.close()
    assert sum(calls) == len(server.bodies)
    assert spent == pytest.approx(20e-6 * sum(calls))
    # A request reserves at most 9 + 4 + 32 prompt tokens and 512 of completion: 1069 micro-dollars.
    assert 0.02 - 1.1e-3 < spent <= 0.02


@pytest.mark.slow
def test_kill_9_never_frees_money(server, settings_for, tmp_path: Path) -> None:
    server.latency_s = 0.02
    settings = settings_for(server, **PRICES)
    process = spend(settings, tmp_path, 1.0, "a")
    while len(server.bodies) < 100:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    store = CallStore(tmp_path)
    assert spent_usd(store) >= 20e-6 * len(server.bodies)
    (kept,) = store.read("select count(*) from replies") or (0,)
    assert len(server.bodies) - kept <= settings.concurrency
    store.close()
