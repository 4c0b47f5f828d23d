"""Supervised fine-tuning: SFT on ground truths and R-Tuning.

TruthRL section 4.1 (baselines) and App. C: rate 5e-6, batch 16, cosine with 3% warm-up, one epoch; the loss is
the cross-entropy of the completion's tokens. What the completions say: :mod:`tasks.training.examples`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from datasets import Dataset
from trl import SFTConfig as TrlConfig
from trl import SFTTrainer

from configs.settings import TrainSettings
from tasks.core.artifacts import StageResult
from tasks.core.records import KnowledgeLabel
from tasks.core.rows import read_rows
from tasks.core.stage import Job
from tasks.training.arguments import accumulation, shared_arguments
from tasks.training.configs import SftConfig
from tasks.training.examples import Example, sft_examples
from tasks.training.launch import launch, needs_launch
from tasks.training.policy import lora_config, model_arguments, token_counts
from tasks.training.questions import asked_for_training
from tasks.training.session import Session


def run(job: Job) -> StageResult:
    """Inputs: model, questions, references, and labels for R-Tuning. Writes a model folder with its curves.

    Raises:
        ValueError: batch sizes do not fit, or no example is left.
    """
    config = job.settings(SftConfig)
    if needs_launch(config.train.launch):
        return launch(job, config.train.launch)
    session = Session.open(job, config.policy, config.train)
    examples, dropped = _examples(job, config, session.tokenizer)
    steps = count_steps(len(examples), config.train)
    trainer = _trainer(session, config, examples, steps)
    session.run(trainer, steps)
    session.save(trainer, {"method": config.method, "seed": config.seed, "trainer": "sft"})
    return StageResult(
        rows=steps,
        counts={"examples": len(examples), "steps": steps, "resumed_step": session.resumed_step},
        dropped=dropped,
    )


def count_steps(examples: int, train: TrainSettings) -> int:
    """Optimiser steps of the whole run; an epoch's last batch may be smaller."""
    return math.ceil(examples / train.sft.batch) * train.sft.epochs


def _examples(job: Job, config: SftConfig, tokenizer: Any) -> tuple[list[Example], dict[str, int]]:
    """Examples that fit, and what was dropped: an example cut at the limit would lose its answer."""
    labels = read_rows(job.input("labels") / "labels.parquet", KnowledgeLabel) if config.targets != "gold" else ()
    examples, dropped = sft_examples(asked_for_training(job, config.templates), config.targets, labels)
    lengths = token_counts(tokenizer, [chat_of(example) for example in examples], prompt_only=False)
    limit = config.train.sft.max_tokens
    kept = [example for example, length in zip(examples, lengths, strict=True) if length <= limit]
    if len(kept) < len(examples):
        dropped["too_long"] = len(examples) - len(kept)
    if not kept:
        raise ValueError(f"no training example is left (dropped: {dropped}); see data.* and train.sft.max_tokens")
    return kept, dropped


def chat_of(example: Example) -> list[dict[str, str]]:
    """The whole conversation."""
    return [*example.prompt, *completion_of(example)]


def completion_of(example: Example) -> list[dict[str, str]]:
    """The part that is learned."""
    return [{"role": "assistant", "content": example.completion}]


def _trainer(session: Session, config: SftConfig, examples: Sequence[Example], steps: int) -> Any:
    sft, processes = config.train.sft, config.train.launch.processes
    # Arguments come before the model: DeepSpeed shards weights as they are loaded only if it knows of them.
    arguments = TrlConfig(
        **shared_arguments(session.job, config.policy, config.train, config.seed),
        model_init_kwargs=model_arguments(session.source, config.policy, config.train),
        num_train_epochs=sft.epochs,
        per_device_train_batch_size=sft.device_batch,
        gradient_accumulation_steps=accumulation(sft.batch, sft.device_batch, processes, "sft"),
        learning_rate=sft.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=math.ceil(sft.warmup_share * steps),
        max_length=sft.max_tokens,
        completion_only_loss=True,
    )
    rows = {
        "prompt": [list(example.prompt) for example in examples],
        "completion": [completion_of(example) for example in examples],
    }
    return SFTTrainer(
        model=session.source.name,
        args=arguments,
        train_dataset=Dataset.from_dict(rows),
        processing_class=session.tokenizer,
        peft_config=lora_config(config.train.lora),
    )
