from __future__ import annotations

import asyncio
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tasks.llm.client import ChatClient
from tasks.llm.requests import CallFailed, KeyMissing, KeyRefused, ModelUnknown, QuotaExhausted, Reply

KEY = "sk-secret-0123456789"


def test_replies_keep_the_order_and_carry_what_was_asked(server, settings_for, ask, tmp_path: Path) -> None:
    requests = [ask(f"q{i}", sample=i, temperature=0.5, top_p=0.9, max_tokens=7) for i in range(20)]
    done: list[int] = []
    with ChatClient(settings_for(server), tmp_path) as client:
        replies = client.complete_all(requests, on_done=lambda index, _: done.append(index))
        assert [reply.text for reply in replies] == [f"echo q{i} {i}" for i in range(20)]
        assert all(reply.tokens_in == 10 and reply.tokens_out == 5 and not reply.cached for reply in replies)
        cost = client.cost()
    assert sorted(done) == list(range(20))
    assert cost == {"calls": 20, "cached": 0, "tokens_in": 200, "tokens_out": 100, "usd": 0, "retries": 0, "failed": 0}
    body = next(body for body in server.bodies if body["seed"] == 3)
    assert body == {
        "model": "judge-1",
        "messages": [{"role": "user", "content": "q3"}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 7,
        "seed": 3,
    }
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert 1 < server.most_in_flight <= 8


def test_cache_answers_a_second_client(make_server, settings_for, ask, tmp_path: Path) -> None:
    first, second = make_server(), make_server()
    with ChatClient(settings_for(first), tmp_path) as client:
        client.complete_all([ask("a"), ask("b")])
    # Another address and another key variable are the same model.
    with ChatClient(settings_for(second, api_key_env=None), tmp_path) as client:
        replies = client.complete_all([ask("a"), ask("b"), ask("b", sample=1)])
        assert [reply.cached for reply in replies] == [True, True, False]
        assert client.cost()["cached"] == 2
    assert len(second.bodies) == 1
    assert "Authorization" not in second.headers[0]
    with ChatClient(settings_for(second, model="judge-2"), tmp_path) as client:
        assert not client.complete_all([ask("a")])[0].cached


def test_equal_requests_are_sent_once(server, settings_for, ask, tmp_path: Path) -> None:
    server.latency_s = 0.1
    with ChatClient(settings_for(server), tmp_path) as client:
        found: list[list[Any]] = []
        threads = [
            threading.Thread(target=lambda: found.append(client.complete_all([ask("same")] * 5))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.bodies) == 1
        replies = [reply for batch in found for reply in batch]
        assert {reply.text for reply in replies} == {"echo same 0"}
        assert len(replies) == 20
        assert sum(not reply.cached for reply in replies) == 1
        assert client.cost()["calls"] == 1
        assert client.cost()["cached"] == 19


@pytest.mark.parametrize("name", ["truncated", "schema", "no_choices", "null", "cut", "500", "408", "409"])
def test_a_passing_fault_is_repeated(name: str, server, settings_for, ask, faults, tmp_path: Path) -> None:
    server.faults.append(
        {
            "truncated": faults.truncated,
            "schema": faults.body({"choices": "yes"}),
            "no_choices": faults.body({"choices": []}),
            "null": faults.body(faults.completion(None)),
            "cut": faults.cut,
            "500": faults.status(500),
            "408": faults.status(408),
            "409": faults.status(409),
        }[name]
    )
    with ChatClient(settings_for(server), tmp_path) as client:
        (reply,) = client.complete_all([ask("q")])
        assert isinstance(reply, Reply)
        assert client.cost()["retries"] == 1
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("name", "reason", "attempts"),
    [
        ("truncated", "bad_reply", 4),
        ("null", "bad_reply", 4),
        ("500", "server_error", 4),
        ("429", "rate_limited", 4),
        ("cut", "connection", 4),
        ("400", "refused", 1),
        ("422", "refused", 1),
        ("413", "refused", 1),
    ],
)
def test_a_lasting_fault_fails_its_request_only(
    name: str, reason: str, attempts: int, server, settings_for, ask, faults, tmp_path: Path
) -> None:
    named = {"truncated": faults.truncated, "null": faults.body(faults.completion(None)), "cut": faults.cut}
    server.always = named.get(name) or faults.status(int(name), message="prompt too odd")
    with ChatClient(settings_for(server), tmp_path) as client:
        (failure,) = client.complete_all([ask("q")])
        assert isinstance(failure, CallFailed)
        assert failure.reason == reason
        assert client.cost()["failed"] == 1
        assert len(server.bodies) == attempts
        if reason == "refused":
            assert "prompt too odd" in failure.detail
        server.always = None
        assert client.complete_all([ask("q")])[0].text == "echo q 0"  # failures are never cached


def test_retry_after_is_obeyed_and_is_no_attempt(server, settings_for, ask, faults, tmp_path: Path) -> None:
    server.faults.extend([faults.status(429, headers={"Retry-After": "0.1"})] * 6)
    with ChatClient(settings_for(server, max_attempts=2), tmp_path) as client:
        started = time.monotonic()
        (reply,) = client.complete_all([ask("q")])
        assert isinstance(reply, Reply)
        assert time.monotonic() - started >= 0.6
    assert len(server.bodies) == 7


def test_a_longer_wait_than_allowed_is_not_waited_for(server, settings_for, ask, faults, tmp_path: Path) -> None:
    server.always = faults.status(429, headers={"Retry-After": "3600"})
    with ChatClient(settings_for(server), tmp_path) as client:
        started = time.monotonic()
        (failure,) = client.complete_all([ask("q")])
        assert failure.reason == "rate_limited"
        assert time.monotonic() - started < 60
    assert len(server.bodies) == 1


def test_all_waiting_of_a_request_is_bounded(server, settings_for, ask, faults, tmp_path: Path) -> None:
    server.always = faults.status(429, headers={"Retry-After": "0.1"})
    with ChatClient(settings_for(server, max_wait_s=0.5), tmp_path) as client:
        started = time.monotonic()
        (failure,) = client.complete_all([ask("q")])
        assert failure.reason == "rate_limited"
        assert 0.3 <= time.monotonic() - started < 30


def test_a_hanging_endpoint_times_out(server, settings_for, ask, faults, tmp_path: Path) -> None:
    server.always = faults.hang
    with ChatClient(settings_for(server, timeout_s=0.2, max_attempts=2), tmp_path) as client:
        (failure,) = client.complete_all([ask("q")])
    assert failure.reason == "timeout"
    assert len(server.bodies) == 2


def test_nobody_listens(settings_for, ask, tmp_path: Path) -> None:
    settings = settings_for(base_urls=("http://127.0.0.1:9/v1",), max_attempts=2)
    with ChatClient(settings, tmp_path) as client:
        (failure,) = client.complete_all([ask("q")])
    assert failure.reason == "connection"
    assert "127.0.0.1:9" in failure.detail


@pytest.mark.parametrize(
    ("code", "name", "error", "says"),
    [
        (401, None, KeyRefused, "TEST_LLM_KEY"),
        (403, None, KeyRefused, "TEST_LLM_KEY"),
        (404, "model_not_found", ModelUnknown, "judge-1"),
        (402, None, QuotaExhausted, "credit"),
        (429, "insufficient_quota", QuotaExhausted, "TEST_LLM_KEY"),
    ],
)
def test_hopeless_answers_stop_the_run(
    code: int, name: str | None, error: type[Exception], says: str, server, settings_for, ask, faults, tmp_path: Path
) -> None:
    server.always = faults.status(code, message=f"you sent {KEY}", code_name=name)
    with ChatClient(settings_for(server), tmp_path) as client:
        with pytest.raises(error, match=says) as raised:
            client.complete_all([ask(f"q{i}") for i in range(200)])
        assert KEY not in str(raised.value)
        assert raised.value.__context__ is None
    assert len(server.bodies) < 40


def test_key_must_be_there(server, settings_for, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_LLM_KEY")
    with pytest.raises(KeyMissing, match="TEST_LLM_KEY"):
        ChatClient(settings_for(server), tmp_path)


def test_the_key_is_nowhere(
    server, settings_for, ask, faults, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.faults.append(faults.body(faults.completion(f"your key is {KEY}")))
    server.faults.append(faults.status(400, message=f"bad {KEY}"))
    with caplog.at_level(logging.DEBUG), ChatClient(settings_for(server, concurrency=1), tmp_path) as client:
        reply, failure = (client.complete_all([ask(text)])[0] for text in ("a", "b"))
    assert reply.text == "your key is ***"
    assert KEY not in failure.detail
    assert KEY not in caplog.text
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()


def test_complete_works_in_any_event_loop(server, settings_for, ask, faults, tmp_path: Path) -> None:
    with ChatClient(settings_for(server), tmp_path) as client:

        async def both() -> list[Reply]:
            return list(await asyncio.gather(client.complete(ask("a")), client.complete(ask("a"))))

        assert sorted(reply.cached for reply in asyncio.run(both())) == [False, True]
        assert asyncio.run(client.complete(ask("a"))).cached
        server.always = faults.status(400)
        with pytest.raises(CallFailed):
            asyncio.run(client.complete(ask("b")))


def test_leaving_a_stream_early_keeps_the_client_usable(server, settings_for, ask, tmp_path: Path) -> None:
    server.latency_s = 0.02
    with ChatClient(settings_for(server, concurrency=2), tmp_path) as client:
        for _ in client.stream([ask(f"q{i}") for i in range(500)]):
            break
        assert client.complete_all([ask("after")])[0].text == "echo after 0"
    assert len(server.bodies) < 50


def test_concurrency_is_respected_by_all_threads_together(server, settings_for, ask, tmp_path: Path) -> None:
    server.latency_s = 0.01
    with ChatClient(settings_for(server, concurrency=3), tmp_path) as client:
        threads = [
            threading.Thread(target=client.complete_all, args=([ask(f"{t}-{i}") for i in range(10)],)) for t in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert server.most_in_flight == 3
    assert len(server.bodies) == 30
