from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from configs.settings import LaunchSettings, PolicySettings, SftSettings, TrainSettings
from tasks.core.artifacts import StageResult
from tasks.training import launch
from tasks.training.configs import SftConfig


def test_command_runs_the_worker_module_on_the_job(tmp_path: Path) -> None:
    assert launch.command(tmp_path / "job.json") == [
        sys.executable,
        "-m",
        "tasks.training.worker",
        str(tmp_path / "job.json"),
    ]


def test_every_rank_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = launch.rank_environment(3, 8, 4711)
    assert environment["RANK"] == environment["LOCAL_RANK"] == "3"
    assert environment["WORLD_SIZE"] == "8"
    assert (environment["MASTER_ADDR"], environment["MASTER_PORT"]) == ("127.0.0.1", "4711")
    settings = LaunchSettings(processes=8)
    assert launch.needs_launch(settings)
    assert launch.rank() == 0
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert not launch.needs_launch(settings)
    assert launch.rank() == 3


def test_one_process_is_not_launched() -> None:
    assert not launch.needs_launch(LaunchSettings(processes=1))


def test_every_rank_pays() -> None:
    first = StageResult(rows=5, counts={"steps": 5}, cost={"calls": 2.0, "usd": 0.5})
    second = StageResult(rows=0, cost={"calls": 3.0})
    merged = launch.merge([first, second])
    assert merged.rows == 5
    assert merged.counts == {"steps": 5}
    assert merged.cost == {"calls": 5.0, "usd": 0.5}


def test_deepspeed_is_zero_3_with_offload(tmp_path: Path) -> None:
    assert launch.deepspeed_file(tmp_path, LaunchSettings()) is None
    path = launch.deepspeed_file(tmp_path, LaunchSettings(deepspeed="zero3-offload"))
    assert path is not None
    zero = json.loads(Path(path).read_text())["zero_optimization"]
    assert zero["stage"] == 3
    assert zero["offload_optimizer"]["device"] == zero["offload_param"]["device"] == "cpu"
    assert zero["stage3_gather_16bit_weights_on_model_save"] is True


def two_processes() -> SftConfig:
    return SftConfig(
        method="sft",
        targets="gold",
        train=TrainSettings(
            sft=SftSettings(learning_rate=1e-2, batch=8, device_batch=4, epochs=1, max_tokens=100),
            launch=LaunchSettings(processes=2, cpu=True, gradient_checkpointing=False),
            trackers=(),
        ),
        policy=PolicySettings(dtype="float32", max_context_tokens=128),
        templates={"closed_book": "{question}"},
        seed=0,
    )


@pytest.mark.slow
def test_two_processes_train_one_model(make_job: Any) -> None:
    from tasks.training import sft

    job = make_job("two", two_processes(), body="tasks.training.sft:run")
    result = sft.run(job)
    assert result.rows == 3  # 24 examples in batches of 2 x 4
    assert (job.data / "model.safetensors").exists()
    assert len((job.data / "metrics.jsonl").read_text().splitlines()) == 3
    assert len(list((job.work / "checkpoints" / "checkpoint-3").glob("rng_state*.pth"))) == 2


def test_a_failed_process_ends_the_others(make_job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 1 fails at once; rank 0 would sleep for a minute."""
    script = "import os, sys, time; sys.exit(7) if os.environ['RANK'] == '1' else time.sleep(60)"
    monkeypatch.setattr(launch, "command", lambda _: [sys.executable, "-c", script])
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def remember(*arguments: Any, **options: Any) -> Any:
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", remember)
    job = make_job("failing", two_processes())
    with pytest.raises(launch.WorkerFailed, match="process 1 of 2 ended with exit code 7") as caught:
        launch.launch(job, two_processes().train.launch)
    assert not caught.value.retryable
    assert all(process.returncode is not None for process in started)
