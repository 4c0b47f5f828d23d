"""Trainer arguments that all methods share, from settings.

Departures from TRL's defaults: no bfloat16 on the CPU, gradient checkpointing only where asked for, every step
logged (the curves are the run's record), checkpoints only at optimiser steps, which are generation boundaries,
so that a resumed run is bit-equal to one that was never stopped.
"""

from __future__ import annotations

from typing import Any

from configs.settings import PolicySettings, TrainSettings
from tasks.core.stage import Job
from tasks.training.launch import deepspeed_file
from tasks.training.trackers import reported_to, run_name

KEPT_CHECKPOINTS = 2
"""One may be torn by a kill while it is written; the one before it is whole."""


def shared_arguments(job: Job, policy: PolicySettings, train: TrainSettings, seed: int) -> dict[str, Any]:
    """Keyword arguments of any TrainingArguments. Checkpoints go below the job's folder."""
    launch = train.launch
    return {
        "output_dir": str(job.work / "checkpoints"),
        "seed": seed,
        "use_cpu": launch.cpu,
        "bf16": not launch.cpu and policy.dtype == "bfloat16",
        "fp16": not launch.cpu and policy.dtype == "float16",
        "activation_checkpointing": launch.gradient_checkpointing,
        "deepspeed": deepspeed_file(job.work, launch),
        "save_strategy": "steps",
        "save_steps": launch.checkpoint_steps,
        "save_total_limit": KEPT_CHECKPOINTS,
        "logging_strategy": "steps",
        "logging_steps": 1,
        "disable_tqdm": True,
        "report_to": reported_to(train.trackers, job),
        "run_name": run_name(job),
        "dataloader_num_workers": 0,
        "dataloader_pin_memory": not launch.cpu,
    }


def accumulation(batch: int, device_batch: int, processes: int, section: str) -> int:
    """Forward passes a step.

    Raises:
        ValueError: device batches do not make up the batch.
    """
    together = device_batch * processes
    if batch % together:
        raise ValueError(
            f"train.{section}: a batch of {batch} is not made up of device_batch {device_batch} x "
            f"{processes} processes; choose device_batch so that {together} divides the batch"
        )
    return batch // together
