from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from configs.settings import LaunchSettings, PolicySettings, SftSettings, TrainSettings
from tasks.core.child import run_in_child
from tasks.training.configs import SftConfig

FORK_SAFE = """
import threading
import importlib
from tasks.core.child import PRELOAD
for name in PRELOAD:
    importlib.import_module(name)
import torch
assert threading.active_count() == 1, threading.enumerate()
assert not torch.cuda.is_initialized()
"""


@pytest.mark.slow
def test_importing_starts_no_thread_and_no_gpu() -> None:
    subprocess.run([sys.executable, "-c", FORK_SAFE], check=True, timeout=120)


@pytest.mark.slow
def test_a_stage_trains_in_a_process_forked_after_the_imports(make_job: Any) -> None:
    config = SftConfig(
        method="sft",
        targets="gold",
        train=TrainSettings(
            sft=SftSettings(batch=8, device_batch=8, max_tokens=100),
            launch=LaunchSettings(cpu=True, gradient_checkpointing=False),
        ),
        policy=PolicySettings(dtype="float32", max_context_tokens=128),
        templates={"closed_book": "{question}"},
        seed=0,
    )
    job = make_job("forked", config, body="tasks.training.sft:run")
    assert run_in_child(job).rows == 3
    assert (job.data / "model.safetensors").exists()
    assert list((job.store / "tensorboard").glob("forked-*/events*"))
