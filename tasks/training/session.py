"""What every trainer does around its steps: load, resume, run, save."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import transformers
from transformers import PrinterCallback

from configs.settings import PolicySettings, TrainSettings
from tasks.core.models import ModelSource, model_source
from tasks.core.rows import Journal, write_json
from tasks.core.stage import Job
from tasks.training.callbacks import MetricsCallback, StepMetrics
from tasks.training.checkpoints import last_checkpoint, rewound
from tasks.training.hub import be_quiet
from tasks.training.launch import rank
from tasks.training.policy import load_tokenizer, prepare_cpu
from tasks.training.saving import export
from tasks.training.trackers import TensorBoardCurves


@dataclass(frozen=True)
class Session:
    """One attempt at a training stage."""

    job: Job
    policy: PolicySettings
    train: TrainSettings
    source: ModelSource
    tokenizer: Any
    checkpoint: Path | None
    """Checkpoint that this attempt goes on from."""
    resumed_step: int

    @classmethod
    def open(cls, job: Job, policy: PolicySettings, train: TrainSettings) -> Session:
        """Find the base model and the last checkpoint.

        Raises:
            ValueError: the base model cannot be used (no chat template).
        """
        prepare_cpu(train.launch)
        datasets.disable_progress_bars()
        transformers.utils.logging.disable_progress_bar()
        source = model_source(job.input("model"))
        be_quiet(source)
        checkpoint, step = last_checkpoint(job.work / "checkpoints", train.launch.processes)
        return cls(job, policy, train, source, load_tokenizer(source), checkpoint, step)

    def run(self, trainer: Any, steps: int) -> None:
        """Train up to `steps` steps in all, counting those before the checkpoint.

        Raises:
            RuntimeError: the trainer stopped early; it does so in silence when the data do not fill a batch.
        """
        trainer.remove_callback(PrinterCallback)
        trainer.create_model_card = _no_model_card
        journal = self._watch(trainer, steps) if rank() == 0 else None
        trainer.train(resume_from_checkpoint=str(self.checkpoint) if self.checkpoint else None)
        if journal is not None:
            journal.close()
        if trainer.state.global_step != steps:
            raise RuntimeError(f"the trainer took {trainer.state.global_step} of {steps} steps: too few examples?")

    def save(self, trainer: Any, meta: dict[str, Any]) -> None:
        """Write the artefact: model, tokenizer, metrics.jsonl and meta.json.

        Every rank must call it: gathering sharded weights takes all of them.
        """
        final = self.job.work / "final"
        trainer.save_model(str(final))
        trainer.accelerator.wait_for_everyone()
        if rank() != 0:
            return
        export(final, self.job.data, self.source, self.policy, self.train, self.tokenizer)
        metrics = (self.job.work / "metrics.jsonl").read_bytes()
        (self.job.data / "metrics.jsonl").write_bytes(metrics)
        write_json(self.job.data / "meta.json", meta)

    def _watch(self, trainer: Any, steps: int) -> Journal[StepMetrics]:
        journal = rewound(self.job.work / "metrics.jsonl", StepMetrics, self.resumed_step)
        progress = self.job.progress()
        progress.start(steps, "steps", resumed=self.resumed_step)
        trainer.add_callback(MetricsCallback(journal, progress))
        if "tensorboard" in self.train.trackers:
            trainer.add_callback(TensorBoardCurves(self.job, self.resumed_step))
        return journal


def _no_model_card(**_: Any) -> None:
    """A checkpoint is for resuming: writing a card for each costs as much as saving a tiny model."""
