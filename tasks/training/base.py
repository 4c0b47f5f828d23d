"""The base model: a pointer to a hub model at a pinned commit, or the closed world's own, trained from scratch.

TruthRL section 4.1 trains Llama-3.1-8B-Instruct and Qwen2.5-7B-Instruct.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from transformers import AutoTokenizer

from configs.settings import PretrainSettings, PromptSetting
from tasks.core.artifacts import StageResult
from tasks.core.hashing import folder_digest
from tasks.core.models import write_hub_pointer
from tasks.core.rows import write_json
from tasks.core.stage import Job
from tasks.training.configs import BaseConfig
from tasks.training.hub import resolve
from tasks.training.pretrain import train_base
from tasks.training.pretrain_text import PromptBuilder, read_lessons
from tasks.verify.prompts import build_messages


def run(job: Job) -> StageResult:
    """Inputs: world and tokenizer, if the policy is pretrained; else none are read.

    Writes a model folder, or a pointer to a hub model or to a folder of the user's.

    Raises:
        ModelUnavailable: the hub id or folder cannot be had.
        ValueError: pretraining needs both prompt settings.
    """
    config = job.settings(BaseConfig)
    if config.policy.pretrain is not None:
        return _pretrained(job, config, config.policy.pretrain)
    progress = job.progress()
    progress.start(1, "models")
    source = resolve(config.policy.model, config.policy.revision)
    write_hub_pointer(job.data, source)
    if source.revision is None:
        # A folder has no commit: its contents' digest makes what follows depend on them and not on its name.
        write_json(job.data / "weights.json", {"sha256": folder_digest(Path(source.name))})
    progress.advance()
    return StageResult(rows=1)


def _pretrained(job: Job, config: BaseConfig, settings: PretrainSettings) -> StageResult:
    torch.set_num_threads(1)  # fastest for a tiny model
    prompt = prompt_builder(config.templates)
    facts, chats = read_lessons(job.input("world"))
    tokenizer = AutoTokenizer.from_pretrained(job.input("tokenizer"))
    progress = job.progress()
    progress.start(0, "steps")

    def show(step: int, total: int, loss: float) -> None:
        progress.update(done=step, total=total, metrics={"loss": loss})

    figures = train_base(facts, chats, settings, prompt, config.seed, job.data, show, tokenizer)
    write_json(job.data / "pretraining.json", figures)
    counts = {name: int(figures[name]) for name in ("parameters", "steps")}
    return StageResult(rows=counts["steps"], counts={"facts": len(facts), "dialogues": len(chats), **counts})


def prompt_builder(templates: Mapping[PromptSetting, str]) -> PromptBuilder:
    """(question, references or None) to the messages of the answer prompt.

    Raises:
        ValueError: a prompt setting is missing.
    """
    missing = {"closed_book", "retrieval"} - set(templates)
    if missing:
        raise ValueError(
            f"the closed world's model learns both prompts, but {sorted(missing)} is missing: add it to "
            "train.prompt_settings"
        )

    def build(question: str, references: Sequence[str] | None) -> list[dict[str, str]]:
        setting: PromptSetting = "closed_book" if references is None else "retrieval"
        return build_messages(templates[setting], question, references=references or ())

    return build
