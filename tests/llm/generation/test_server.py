"""The server's process, with a small script in vLLM's place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from configs.settings import GenerationSettings, PolicySettings
from tasks.core.models import ModelSource
from tasks.llm.generation import GenerationFailed
from tasks.llm.generation.server import VllmServer, command, environment

ROOT = Path(__file__).parents[3]
FAKE = """#!{python}
# Stands for "python -m vllm.entrypoints.openai.api_server ...": a worker of its own, and /health.
import http.server, os, subprocess, sys
if {crash}:
    sys.exit("no such model")
worker = subprocess.Popen(["sleep", "600"])
with open({pids!r}, "w") as file:
    file.write(f"{{os.getpid()}} {{worker.pid}}")
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.HTTPServer(("127.0.0.1", port), Health).serve_forever()
"""
OWNER = """
import sys, time
from configs.settings import GenerationSettings, PolicySettings
from tasks.core.models import ModelSource
from tasks.llm.generation.server import VllmServer
settings = GenerationSettings(vllm={{"python": {python!r}, "start_timeout_s": 30}})
server = VllmServer(ModelSource(name="m"), PolicySettings(), settings)
print("up", flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def logs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs of failed starts are kept on purpose; not in this machine's /tmp, though."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture
def fake(tmp_path: Path) -> Any:
    def make(crash: bool = False) -> tuple[str, Path]:
        script, pids = tmp_path / "python", tmp_path / "pids"
        script.write_text(FAKE.format(python=sys.executable, crash=crash, pids=str(pids)))
        script.chmod(0o755)
        return str(script), pids

    return make


def settings(python: str, **changes: Any) -> GenerationSettings:
    return GenerationSettings(vllm={"python": python, "start_timeout_s": 30.0, **changes})


def gone(pids: list[int]) -> bool:
    """Every process is dead (or a zombie of a parent that has not looked)."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        states = [_state(pid) for pid in pids]
        if all(state in (None, "Z") for state in states):
            return True
        time.sleep(0.02)
    return False


def _state(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def test_starts_and_stops_with_all_it_started(fake: Any) -> None:
    python, pids = fake()
    server = VllmServer(ModelSource(name="m"), PolicySettings(), settings(python))
    assert server.alive
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 2
    assert None not in [_state(pid) for pid in started]
    server.close()
    assert gone(started)
    assert not server.log.exists()


def test_dies_with_its_owner(fake: Any) -> None:
    python, pids = fake()
    owner = subprocess.Popen([sys.executable, "-c", OWNER.format(python=python)], cwd=ROOT, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"up\n"
    started = [int(pid) for pid in pids.read_text().split()]
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    assert gone(started)


def test_a_crash_at_the_start_shows_the_log(fake: Any) -> None:
    python, _ = fake(crash=True)
    with pytest.raises(GenerationFailed, match="no such model"):
        VllmServer(ModelSource(name="m"), PolicySettings(), settings(python))


def test_a_start_that_takes_too_long_leaves_nothing(fake: Any) -> None:
    python, pids = fake()
    Path(python).write_text(Path(python).read_text().replace("send_response(200)", "send_response(503)"))
    with pytest.raises(GenerationFailed, match="start_timeout_s"):
        VllmServer(ModelSource(name="m"), PolicySettings(), settings(python, start_timeout_s=1.5))
    assert gone([int(pid) for pid in pids.read_text().split()])


def test_command_says_all_that_matters() -> None:
    chosen = GenerationSettings(batch=7, vllm={"tensor_parallel": 2, "extra_args": ["--enforce-eager"]})
    model = ModelSource(name="org/model", revision="abc")
    words = command(model, PolicySettings(dtype="bfloat16", max_context_tokens=99), chosen, 1234)
    options = dict(zip(words[3:-1:2], words[4:-1:2], strict=True))
    assert options["--host"] == "127.0.0.1"
    assert options["--generation-config"] == "vllm"
    assert options["--max-model-len"] == "99"
    assert options["--max-num-seqs"] == "7"
    assert options["--revision"] == options["--tokenizer-revision"] == "abc"
    assert options["--tensor-parallel-size"] == "2"
    assert words[-1] == "--enforce-eager"
    assert not any("secret" in word for word in words)
    assert environment("secret")["VLLM_API_KEY"] == "secret"
