"""Curves outside the run's own files: TensorBoard, and Weights & Biases where it is installed.

TensorBoard's event files hold times and the host's name, so they stand beside the artefacts and not in them:
``<store>/tensorboard/<run>``, one folder for ``tensorboard --logdir`` to show all runs together.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from transformers import TrainerCallback

from tasks.core.stage import Job
from tasks.training.callbacks import TRAINER_NAMES


class TensorBoardCurves(TrainerCallback):  # type: ignore[misc]
    """Writes each step's metrics; a resumed run's curves go on where the checkpoint was taken."""

    def __init__(self, job: Job, resumed_step: int) -> None:
        folder = job.store / "tensorboard" / run_name(job)
        self._writer = SummaryWriter(str(folder), purge_step=resumed_step + 1)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:  # noqa: ARG002
        """One point a curve."""
        for name, ours in TRAINER_NAMES.items():
            if logs.get(name) is not None:
                self._writer.add_scalar(ours, float(logs[name]), state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """All points are on disk before the stage ends."""
        self._writer.close()


def run_name(job: Job) -> str:
    """What a tracker calls the run: its label, and its key's first digits, for other settings have another."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", job.label).strip("-") + "-" + job.work.name[:8]


def reported_to(trackers: Sequence[str], job: Job) -> list[str]:
    """Trackers that the trainer itself serves (``report_to``).

    Raises:
        RuntimeError: Weights & Biases was asked for and is not installed.
    """
    if "wandb" not in trackers:
        return []
    if importlib.util.find_spec("wandb") is None:
        raise RuntimeError("train.trackers names wandb, which is not installed: `pip install wandb`, or leave it out")
    os.environ.setdefault("WANDB_DIR", str(job.work))
    os.environ.setdefault("WANDB_PROJECT", "plumbline")
    return ["wandb"]
