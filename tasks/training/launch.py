"""Train in several processes, one a GPU.

The stage's process writes its job to a file and starts ``tasks.training.worker`` once a rank, with the variables
by which PyTorch, accelerate and DeepSpeed find each other (RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR,
MASTER_PORT). Each worker runs the stage's own body again; there :func:`needs_launch` is false. The usual
launchers put their workers into sessions of their own, where a killed stage would leave them running; started
here they stay in the stage's process group and end with it.

Tried by us with processes on the CPU; not on several GPUs, and DeepSpeed (App. C of the TruthRL paper: ZeRO-3 with
offload) not at all.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from configs.settings import LaunchSettings
from tasks.core.artifacts import LOG_FILE, StageResult
from tasks.core.rows import write_json
from tasks.core.stage import Job

WORKER = "tasks.training.worker"
WORKER_VARIABLE = "PLUMBLINE_WORKER"
"""Set in the environment of a worker."""
POLL_S = 0.2


class WorkerFailed(RuntimeError):
    """A training process ended with an error; the stage's log holds it."""

    def __init__(self, message: str, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable
        """It was killed, so trying again may help."""


def is_worker() -> bool:
    """This process is one of several that train together."""
    return WORKER_VARIABLE in os.environ


def rank() -> int:
    """Which of them; 0 for the only one."""
    return int(os.environ["RANK"]) if is_worker() else 0


def needs_launch(launch: LaunchSettings) -> bool:
    """The stage asks for several processes and this is not yet one of them."""
    return launch.processes > 1 and not is_worker()


def launch(job: Job, settings: LaunchSettings) -> StageResult:
    """Run the job's body in all processes and bring together what they found.

    Raises:
        WorkerFailed: one of them failed; the others were ended.
    """
    job_path = job.work / "job.json"
    job_path.write_text(job.model_dump_json())
    deepspeed_file(job.work, settings)
    results = [_result_path(job, index) for index in range(settings.processes)]
    for path in results:
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
    port = _free_port()
    workers = [
        subprocess.Popen(command(job_path), env={**os.environ, **rank_environment(index, settings.processes, port)})
        for index in range(settings.processes)
    ]
    try:
        failed = _wait(workers)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    if failed is not None:
        code = workers[failed].returncode
        raise WorkerFailed(
            f"training process {failed} of {settings.processes} ended with exit code {code}; "
            f"its error is in {job.work / LOG_FILE}",
            retryable=code < 0,
        )
    return merge([StageResult.model_validate_json(path.read_bytes()) for path in results])


def command(job_path: Path) -> list[str]:
    """Command line of a worker."""
    return [sys.executable, "-m", WORKER, str(job_path)]


def rank_environment(index: int, processes: int, port: int) -> dict[str, str]:
    """What a worker's environment has beside this process's own."""
    return {
        WORKER_VARIABLE: "1",
        "RANK": str(index),
        "LOCAL_RANK": str(index),
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def write_result(job: Job, result: StageResult) -> None:
    """Leave a worker's result for the stage's process."""
    write_json(_result_path(job, rank()), result.model_dump())


def merge(results: Sequence[StageResult]) -> StageResult:
    """The first rank's result with the cost of all: each of them calls the judge."""
    return results[0].model_copy(update={"cost": add_costs(result.cost for result in results)})


def add_costs(meters: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Sum of meters, name by name."""
    total: dict[str, float] = {}
    for meter in meters:
        for name, value in meter.items():
            total[name] = total.get(name, 0.0) + value
    return total


def deepspeed_file(work: Path, settings: LaunchSettings) -> str | None:
    """Path of DeepSpeed's configuration, written for the trainer; None without DeepSpeed."""
    if settings.deepspeed == "none":
        return None
    path = work / "deepspeed.json"
    if not is_worker():
        write_json(path, deepspeed_config())
    return str(path)


def deepspeed_config() -> dict[str, Any]:
    """ZeRO stage 3, parameters and optimiser offloaded to the host; the trainer fills in what is "auto"."""
    offload = {"device": "cpu", "pin_memory": True}
    return {
        "bf16": {"enabled": "auto"},
        "fp16": {"enabled": "auto"},
        "zero_optimization": {
            "stage": 3,
            "offload_optimizer": offload,
            "offload_param": offload,
            "overlap_comm": True,
            "contiguous_gradients": True,
            "reduce_bucket_size": "auto",
            "stage3_prefetch_bucket_size": "auto",
            "stage3_param_persistence_threshold": "auto",
            "stage3_gather_16bit_weights_on_model_save": True,
        },
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
    }


def _result_path(job: Job, index: int) -> Path:
    return job.work / "ranks" / f"{index}.json"


def _wait(workers: Sequence[subprocess.Popen[bytes]]) -> int | None:
    """Wait for all; the index of the first that failed, as soon as it has."""
    while True:
        codes = [worker.poll() for worker in workers]
        for index, code in enumerate(codes):
            if code:
                return index
        if all(code == 0 for code in codes):
            return None
        time.sleep(POLL_S)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
