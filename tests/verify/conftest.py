"""A chat endpoint on 127.0.0.1 whose replies a test writes, and a grader that asks it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from configs.settings import EndpointSettings, JudgeSettings
from tasks.llm.client import ChatClient
from tasks.verify.grader import Grader

RIGHT = '{"explanation": "same", "score": 1}'
WRONG = '{"explanation": "other", "score": 0}'


class JudgeServer:
    """Answers with `reply(body)`: a text, or an HTTP status; keeps what it was asked."""

    def __init__(self) -> None:
        self.reply: Callable[[dict[str, Any]], str | int] = lambda _: WRONG
        self.bodies: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    @property
    def users(self) -> list[str]:
        """User messages so far."""
        return [body["messages"][-1]["content"] for body in self.bodies]

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self._lock:
            self.bodies.append(body)
        reply = self.reply(body)
        if isinstance(reply, int):
            return reply, {"error": {"message": "told to fail"}}
        message = {"role": "assistant", "content": reply}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
        return 200, {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }


@pytest.fixture
def server() -> Iterator[tuple[JudgeServer, str]]:
    judge = JudgeServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = judge.answer(body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 64  # connections that come at once; the default of 5 makes the others retry a second later

    http = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield judge, f"http://127.0.0.1:{http.server_address[1]}/v1"
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def judge(server: tuple[JudgeServer, str]) -> JudgeServer:
    return server[0]


@pytest.fixture
def make_grader(server: tuple[JudgeServer, str], tmp_path: Path) -> Iterator[Callable[..., Grader]]:
    endpoint = EndpointSettings(
        base_urls=(server[1],), model="m", api_key_env=None, max_attempts=1, timeout_s=1.0, max_wait_s=1.0
    )
    with ChatClient(endpoint, tmp_path) as client:
        yield lambda **settings: Grader(JudgeSettings(**settings), "Grade it.", client)


@pytest.fixture
def grader(make_grader: Callable[..., Grader]) -> Grader:
    return make_grader()
