"""The service over real HTTP on 127.0.0.1."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import openai
import pytest
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError

from sandbox.faults import FaultPlan
from sandbox.service import LocalService
from sandbox.site import Redirect

PROMPT = "### Question\nWhere does Bake Lomi live?\n\n### Accepted answers\n- Lima\n\n### Prediction\n{}"


@pytest.fixture(scope="module")
def running() -> Iterator[LocalService]:
    with LocalService(slow_host_delay_s=0.2) as service:
        yield service


@pytest.fixture
def service(running: LocalService) -> Iterator[LocalService]:
    running.clear_faults()
    running.service.tally.clear()
    yield running
    running.clear_faults()


def send(
    service: LocalService,
    method: str,
    path: str,
    body: object = None,
    headers: dict[str, str] | None = None,
    timeout_s: float = 10.0,
) -> tuple[int, Message, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=timeout_s)
    try:
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, raw, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def chat_body(prediction: str = "Lima", **more: object) -> dict[str, Any]:
    return {
        "model": "closed-world-judge",
        "messages": [{"role": "user", "content": PROMPT.format(prediction)}],
        **more,
    }


def judged(raw: bytes) -> int:
    return int(json.loads(json.loads(raw)["choices"][0]["message"]["content"])["score"])


def test_the_openai_client_gets_a_judgement(service: LocalService) -> None:
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key="any", max_retries=0) as client:
        messages: Any = [{"role": "user", "content": PROMPT.format("She lives in Lima.")}]
        reply = client.chat.completions.create(model="closed-world-judge", messages=messages, seed=3, n=2)
        assert [model.id for model in client.models.list()] == ["closed-world-judge"]
        with pytest.raises(openai.NotFoundError, match="does not exist"):
            client.chat.completions.create(model="gpt-9", messages=messages)
        with pytest.raises(openai.BadRequestError, match="messages"):
            client.chat.completions.create(model="closed-world-judge", messages=[])
    assert [json.loads(choice.message.content or "")["score"] for choice in reply.choices] == [1, 1]
    assert reply.choices[0].finish_reason == "stop"
    assert reply.model == "closed-world-judge"
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens > 20


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        {},
        {"model": "closed-world-judge"},
        chat_body(temperature=3),
        chat_body(n=0),
        chat_body(stream=True),
        {"model": "closed-world-judge", "messages": [{"role": "wizard", "content": "x"}]},
    ],
)
def test_malformed_bodies_are_400(service: LocalService, body: object) -> None:
    status, _, raw = send(service, "POST", "/v1/chat/completions", body)
    error = json.loads(raw)["error"]
    assert status == 400
    assert error["type"] == "invalid_request_error"
    assert set(error) == {"message", "type", "param", "code"}


def test_a_reply_is_cut_at_max_tokens(service: LocalService) -> None:
    _, _, raw = send(service, "POST", "/v1/chat/completions", chat_body(max_tokens=2))
    reply = json.loads(raw)
    assert reply["choices"][0]["finish_reason"] == "length"
    assert len(reply["choices"][0]["message"]["content"]) == 8
    assert reply["usage"]["completion_tokens"] == 2


def test_a_wrong_key_is_401_and_never_shown() -> None:
    with LocalService(key="s3cret") as service:
        right, wrong = {"Authorization": "Bearer s3cret"}, {"Authorization": "Bearer other"}
        assert send(service, "POST", "/v1/chat/completions", chat_body(), right)[0] == 200
        for headers in (wrong, {}):
            status, _, raw = send(service, "POST", "/v1/chat/completions", chat_body(), headers)
            assert (status, json.loads(raw)["error"]["code"]) == (401, "invalid_api_key")
            assert b"s3cret" not in raw
            assert b"other" not in raw
        assert send(service, "GET", "/v1/models", headers=wrong)[0] == 401
        assert send(service, "GET", "/customsearch/v1?key=other&cx=c&q=x")[0] == 400
        assert send(service, "GET", "/customsearch/v1?key=s3cret&cx=c&q=x")[0] == 200


def test_googles_client_pages_through_results(service: LocalService) -> None:
    api = build(
        "customsearch",
        "v1",
        developerKey="any",
        static_discovery=True,
        cache_discovery=False,
        client_options={"api_endpoint": service.url},
    )
    name = next(entity.name for entity in service.world.entities if entity.on_pages)
    first = api.cse().list(q=f"Where does {name} live?", cx="c", num=10).execute()
    second = api.cse().list(q=f"Where does {name} live?", cx="c", num=10, start=11).execute()
    assert name in first["items"][0]["title"] + first["items"][0]["snippet"]
    assert first["queries"]["nextPage"][0]["startIndex"] == 11
    assert int(first["searchInformation"]["totalResults"]) > 20
    links = [item["link"] for answer in (first, second) for item in answer["items"]]
    assert len(set(links)) == 20
    with pytest.raises(HttpError, match="invalid argument") as refused:
        api.cse().list(q="x", cx="c", num=11).execute()
    assert refused.value.resp.status == 400


@pytest.mark.parametrize(
    ("query", "status", "reason"),
    [
        ("cx=c&q=x", 403, "forbidden"),
        ("key=k&q=x", 400, "badRequest"),
        ("key=k&cx=c", 400, "badRequest"),
        ("key=k&cx=c&q=x&num=0", 400, "badRequest"),
        ("key=k&cx=c&q=x&num=ten", 400, "badRequest"),
        ("key=k&cx=c&q=x&start=0", 400, "badRequest"),
        ("key=k&cx=c&q=x&num=10&start=92", 400, "badRequest"),
        ("key=k&cx=c&q=x&num=10&start=91", 200, None),
    ],
)
def test_search_limits(service: LocalService, query: str, status: int, reason: str | None) -> None:
    got, _, raw = send(service, "GET", f"/customsearch/v1?{query}")
    assert got == status
    if reason is not None:
        error = json.loads(raw)["error"]
        assert (error["code"], error["errors"][0]["reason"]) == (status, reason)


def test_every_page_is_served_by_host_and_by_path(service: LocalService) -> None:
    site = service.service.site
    for page in [page for page in site.pages if page.address.host != "slow"][:40]:
        host = {"Host": f"{page.address.host}.closed.world"}
        by_host = send(service, "GET", f"/{page.address.slug}", headers=host)
        by_path = send(service, "GET", f"/pages/{page.address.host}/{page.address.slug}")
        by_proxy = send(service, "GET", page.address.url, headers=host)
        assert by_host[2] == by_path[2] == by_proxy[2]
        assert by_host[0] == by_path[0] == by_proxy[0] == (200 if page.alive else 404)
        if page.alive:
            assert by_host[2] == page.body()
            assert by_host[1]["Content-Type"] == page.encoding.content_type
            assert (by_host[1]["Last-Modified"] or "") == page.last_modified


def test_redirects_keep_the_form_of_the_request(service: LocalService) -> None:
    redirect = service.service.site.redirects[0]
    assert isinstance(redirect, Redirect)
    source, target = redirect.address, redirect.target
    status, headers, _ = send(service, "GET", f"/pages/{source.host}/{source.slug}")
    assert (status, headers["Location"]) == (301, f"/pages/{target.host}/{target.slug}")
    host = {"Host": f"{source.host}.closed.world:80"}
    status, headers, _ = send(service, "GET", f"/{source.slug}", headers=host)
    assert (status, headers["Location"]) == (301, target.url)


def test_slow_hosts_robots_and_unknown_addresses(service: LocalService) -> None:
    start = time.perf_counter()
    send(service, "GET", "/pages/slow/robots.txt")
    assert time.perf_counter() - start >= 0.2
    assert send(service, "GET", "/pages/almanac/robots.txt")[2] == b"User-agent: *\nDisallow: /\n"
    assert send(service, "GET", "/robots.txt", headers={"Host": "who.closed.world"})[2].endswith(b"/members/\n")
    assert send(service, "GET", "/robots.txt")[0] == 200
    for path in ("/pages/nobody/x", "/pages/who/nothing", "/pages/", "/../etc/passwd", "/pages/who/../../healthz"):
        assert send(service, "GET", path)[0] == 404
    assert json.loads(send(service, "GET", "/healthz")[2])["status"] == "ok"


def test_faults_are_set_over_http_and_counted(service: LocalService) -> None:
    plan = {"chat": {"rate_limited": 1.0, "retry_after_s": 3}, "search": {"server_error": 1}, "pages": {"hang": 1}}
    assert send(service, "PUT", "/_faults", plan)[0] == 200
    assert json.loads(send(service, "GET", "/_faults")[2])["chat"]["rate_limited"] == 1.0
    status, headers, raw = send(service, "POST", "/v1/chat/completions", chat_body())
    assert (status, headers["Retry-After"]) == (429, "3")
    assert json.loads(raw)["error"]["type"] == "rate_limit_exceeded"
    status, _, raw = send(service, "GET", "/customsearch/v1?key=k&cx=c&q=x")
    assert (status, json.loads(raw)["error"]["status"]) == (500, "INTERNAL")
    with pytest.raises(TimeoutError):
        send(service, "GET", "/pages/who/x", timeout_s=0.2)
    assert send(service, "DELETE", "/_faults")[2] == b"{}"
    for prediction in ("Lima", "Lima", "Oslo"):
        assert send(service, "POST", "/v1/chat/completions", chat_body(prediction))[0] == 200
    stats = json.loads(send(service, "GET", "/_stats")[2])
    assert stats["requests"] == {"chat": 4, "search": 1, "pages": 1}
    assert stats["faults"] == {"chat": {"rate_limited": 1}, "search": {"server_error": 1}, "pages": {"hang": 1}}
    assert stats["chat_received"] == {"distinct": 2, "repeats": 2}
    assert stats["chat_answered"] == {"distinct": 2, "repeats": 1}


@pytest.mark.parametrize("plan", [{"chats": {}}, {"chat": {"hangs": 1}}, {"chat": {"hang": 2}}, b"nonsense"])
def test_unknown_faults_are_refused_and_change_nothing(service: LocalService, plan: object) -> None:
    service.set_faults(chat=FaultPlan(latency_s=0.01))
    before = send(service, "GET", "/_faults")[2]
    assert send(service, "PUT", "/_faults", plan)[0] == 400
    assert send(service, "GET", "/_faults")[2] == before


def test_broken_chat_replies(service: LocalService) -> None:
    service.set_faults(chat=FaultPlan(garbage_text=1.0))
    status, _, raw = send(service, "POST", "/v1/chat/completions", chat_body())
    content = json.loads(raw)["choices"][0]["message"]["content"]
    assert status == 200
    assert "score" not in content
    service.set_faults(chat=FaultPlan(truncated_json=1.0))
    status, _, raw = send(service, "POST", "/v1/chat/completions", chat_body())
    assert status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(raw)
    service.set_faults(chat=FaultPlan(wrong_schema=1.0))
    status, _, raw = send(service, "POST", "/v1/chat/completions", chat_body())
    assert status == 200
    assert "choices" not in json.loads(raw)
    service.set_faults(chat=FaultPlan(latency_s=0.2))
    start = time.perf_counter()
    assert judged(send(service, "POST", "/v1/chat/completions", chat_body())[2]) == 1
    assert time.perf_counter() - start >= 0.2


def test_broken_pages_and_searches(service: LocalService) -> None:
    page = next(page for page in service.service.site.pages if page.alive and page.address.host == "who")
    path = f"/pages/{page.address.host}/{page.address.slug}"
    service.set_faults(pages=FaultPlan(truncated_json=1.0), search=FaultPlan(garbage_text=1.0))
    assert page.body().startswith(raw := send(service, "GET", path)[2])
    assert len(raw) == len(page.body()) // 2
    items = json.loads(send(service, "GET", "/customsearch/v1?key=k&cx=c&q=x")[2])["items"]
    assert items[0]["link"] == "not a link"
    service.set_faults(pages=FaultPlan(garbage_text=1.0))
    assert b"<html" not in send(service, "GET", path)[2]


def test_a_hanging_request_does_not_keep_the_service_from_stopping() -> None:
    async def hang(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /pages/who/x HTTP/1.1\r\nHost: x\r\n\r\n")
        await writer.drain()
        return await reader.read()

    service = LocalService()
    with service:
        service.set_faults(pages=FaultPlan(hang=1.0))
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
        connection.request("GET", "/pages/who/x")
        while service.stats()["requests"] != {"chat": 0, "search": 0, "pages": 1}:
            time.sleep(0.01)
        start = time.perf_counter()
    assert time.perf_counter() - start < 5
    connection.close()
    with pytest.raises(ConnectionRefusedError):
        asyncio.run(hang(service.port))


@pytest.mark.slow
def test_the_command_serves_until_sigterm(tmp_path: Path) -> None:
    world = tmp_path / "world.json"
    world.write_text('{"seed": 4, "entities": 20}')
    port_file = tmp_path / "port"
    command = [sys.executable, "-m", "sandbox.service", "--port-file", str(port_file), "--world-json", str(world)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 20
        while not port_file.exists():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        port = int(port_file.read_text())
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stdout is not None
        assert f"http://127.0.0.1:{port}" in process.stdout.read()
        assert not port_file.exists()
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    world = tmp_path / "world.json"
    world.write_text('{"entitys": 20}')
    cases = (["--world-json", str(world)], ["--world-json", str(tmp_path / "none")], ["--key-env", "NOT_SET_ANYWHERE"])
    environment = {key: value for key, value in os.environ.items() if key != "NOT_SET_ANYWHERE"}
    for arguments in cases:
        command = [sys.executable, "-m", "sandbox.service", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, env=environment, check=False)
        assert done.returncode == 2
        assert arguments[1].rpartition("/")[2] in done.stderr or "entitys" in done.stderr
        assert "Traceback" not in done.stderr
