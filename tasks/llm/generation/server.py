"""The vLLM server's process: started on a free local port, watched until it answers, killed with all it started."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from configs.settings import GenerationSettings, PolicySettings
from tasks.core.models import ModelSource
from tasks.llm.generation import GenerationFailed, guard

MODEL_NAME = "policy"
POLL_S = 0.2
HEALTH_TIMEOUT_S = 5.0
LOG_TAIL_LINES = 25
STOP_GRACE_S = 10.0


class VllmServer:
    """A running server. Its log is a temporary file, kept only if something went wrong.

    Raises:
        GenerationFailed: it ended or did not answer in time; the message holds the end of its log.
    """

    def __init__(self, model: ModelSource, policy: PolicySettings, settings: GenerationSettings) -> None:
        self.key = secrets.token_hex(16)
        port = _free_port()
        self.root = f"http://127.0.0.1:{port}"
        handle, name = tempfile.mkstemp(prefix="plumbline-vllm-", suffix=".log")
        self.log = Path(name)
        with os.fdopen(handle, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, guard.__file__, *command(model, policy, settings, port)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment(self.key),
            )
        try:
            self._wait_until_healthy(settings.vllm.start_timeout_s)
        except BaseException:
            self._kill()
            raise

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def failure(self, what: str) -> GenerationFailed:
        """An error that shows the end of the log."""
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:])
        return GenerationFailed(f"{what}\nEnd of its log ({self.log}):\n{tail}")

    def close(self) -> None:
        """Kill the server's process group and forget its log."""
        failed = not self.alive
        self._kill()
        if not failed:
            self.log.unlink(missing_ok=True)

    def _kill(self) -> None:
        """End of the guard's input is its order to kill the group."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(STOP_GRACE_S)

    def _wait_until_healthy(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not _answers(f"{self.root}/health"):
            if not self.alive:
                raise self.failure("the vLLM server ended while it started; see generation.vllm in the settings.")
            if time.monotonic() > deadline:
                raise self.failure(
                    f"the vLLM server did not answer within {timeout_s:g} s; raise generation.vllm.start_timeout_s "
                    "if the model is still loading."
                )
            time.sleep(POLL_S)


def command(model: ModelSource, policy: PolicySettings, settings: GenerationSettings, port: int) -> list[str]:
    """The server's command line."""
    vllm = settings.vllm
    options = {
        "model": model.name,
        "served-model-name": MODEL_NAME,
        "host": "127.0.0.1",
        "port": port,
        "dtype": policy.dtype,
        "max-model-len": policy.max_context_tokens,
        "tensor-parallel-size": vllm.tensor_parallel,
        "gpu-memory-utilization": vllm.gpu_memory_share,
        "max-num-seqs": settings.batch,
        # Sampling defaults in the model's generation_config.json would be applied otherwise (its end tokens still are).
        "generation-config": "vllm",
        "seed": 0,
    }
    if model.revision is not None:
        options |= {"revision": model.revision, "tokenizer-revision": model.revision}
    flags = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return [vllm.python or sys.executable, "-m", "vllm.entrypoints.openai.api_server", *flags, *vllm.extra_args]


def environment(key: str) -> dict[str, str]:
    """The server's environment: a key, so that no other user of the machine gets answers, and no usage reports."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {**kept, "VLLM_API_KEY": key, "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(url: str) -> bool:
    # No proxy: the address is this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=HEALTH_TIMEOUT_S) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False
