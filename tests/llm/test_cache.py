from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tasks.llm.cache import CallStore, put_reply, request_key
from tasks.llm.requests import ChatRequest, Reply

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from functools import partial
from pathlib import Path
from tasks.llm.cache import CallStore, put_reply, request_key
from tasks.llm.requests import ChatRequest, Reply

store, name, count = CallStore(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
futures = []
for i in range(count):
    request = ChatRequest(messages=({"role": "user", "content": f"{name} {i}"},))
    reply = Reply(text=f"{name} {i}" * 50, finish_reason="stop", tokens_in=1, tokens_out=1, cached=False)
    futures.append(store.submit(partial(put_reply, key=request_key("m", request), model="m", reply=reply)))
    if len(futures) == 64:
        for future in futures:
            future.result()
        print(i, flush=True)  # everything up to i is promised to be on disk
        futures = []
store.close()
"""


def reply(text: str) -> Reply:
    return Reply(text=text, finish_reason="stop", tokens_in=1, tokens_out=2, cached=False)


def request(text: str, **more: Any) -> ChatRequest:
    return ChatRequest(messages=({"role": "user", "content": text},), **more)


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), name, str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_round_trip(tmp_path: Path) -> None:
    store = CallStore(tmp_path)
    key = request_key("m", request("é\u0000\n"))
    assert store.find(key) is None
    store.submit(partial(put_reply, key=key, model="m", reply=reply("first"))).result()
    store.submit(partial(put_reply, key=key, model="m", reply=reply("second"))).result()
    assert store.find(key) == reply("first").model_copy(update={"cached": True})
    store.close()
    again = CallStore(tmp_path)
    assert again.find(key) is not None
    again.close()


def test_key_holds_all_that_determines_the_reply() -> None:
    base = request("q")
    others = [
        request("q "),
        request("q", temperature=0.1),
        request("q", top_p=0.9),
        request("q", max_tokens=1),
        request("q", sample=1),
        request("q", response_format={"type": "json_object"}),
        ChatRequest(messages=({"role": "system", "content": "q"},)),
    ]
    keys = {request_key("m", base), request_key("n", base), *(request_key("m", other) for other in others)}
    assert len(keys) == 9
    swapped = ChatRequest(messages=({"content": "q", "role": "user"},))
    assert request_key("m", swapped) == request_key("m", base)


def test_a_failing_write_takes_its_group_with_it_and_no_more(tmp_path: Path) -> None:
    store = CallStore(tmp_path)

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("insert into spend values ('m', 1, 1, 1, 1)")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        store.submit(fail).result()
    assert store.read("select count(*) from spend") == (0,)
    assert store.submit(lambda connection: connection.execute("select 1").fetchone()).result() == (1,)
    store.close()


def test_close_commits_what_is_queued(tmp_path: Path) -> None:
    store = CallStore(tmp_path)
    keys = [request_key("m", request(str(i))) for i in range(2000)]
    futures = [store.submit(partial(put_reply, key=key, model="m", reply=reply("x"))) for key in keys]
    store.close()
    assert all(future.done() for future in futures)
    again = CallStore(tmp_path)
    assert again.read("select count(*) from replies") == (2000,)
    again.close()


@pytest.mark.slow
def test_two_processes_write_at_once(tmp_path: Path) -> None:
    processes = [writer(tmp_path, name, 3000) for name in ("a", "b")]
    assert [process.wait() for process in processes] == [0, 0]
    store = CallStore(tmp_path)
    assert store.read("select count(*) from replies") == (6000,)
    assert store.read("pragma integrity_check") == ("ok",)
    store.close()


@pytest.mark.slow
def test_kill_9_loses_nothing_that_was_promised(tmp_path: Path) -> None:
    for round_ in range(3):
        process = writer(tmp_path, f"round {round_}", 1_000_000)
        assert process.stdout is not None
        promised = int(process.stdout.readline())
        time.sleep(0.1 + 0.1 * round_)
        os.kill(process.pid, signal.SIGKILL)
        promised = max([promised, *(int(line) for line in process.stdout.read().splitlines() if line.strip())])
        process.wait()
        store = CallStore(tmp_path)
        for i in range(promised + 1):
            found = store.find(request_key("m", request(f"round {round_} {i}")))
            assert found is not None, i
            assert found.text == f"round {round_} {i}" * 50
        assert store.read("pragma integrity_check") == ("ok",)
        store.close()
