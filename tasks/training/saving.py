"""A trained model as an ordinary Hugging Face folder: adapters merged, weights in the policy's type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, GenerationConfig

from configs.settings import PolicySettings, TrainSettings
from tasks.core.models import ModelSource
from tasks.training.policy import model_arguments


def export(
    trained: Path, data: Path, source: ModelSource, policy: PolicySettings, train: TrainSettings, tokenizer: Any
) -> None:
    """Write model and tokenizer to `data`.

    Args:
        trained: what the trainer saved, in whatever launch mode: full weights, or an adapter.
        source: the model that training started from; its generation settings are kept, since the trainer
            leaves its sampling temperature in its own.
    """
    if train.lora is None:
        model = AutoModelForCausalLM.from_pretrained(trained, dtype=policy.dtype)
    else:
        # Merged in the type it was trained in: rounding comes after the sum.
        base = AutoModelForCausalLM.from_pretrained(source.name, **model_arguments(source, policy, train))
        model = PeftModel.from_pretrained(base, trained).merge_and_unload().to(dtype=getattr(torch, policy.dtype))
    model.generation_config = _generation_config(source, model)
    model.save_pretrained(data)
    tokenizer.save_pretrained(data)


def _generation_config(source: ModelSource, model: Any) -> Any:
    try:
        return GenerationConfig.from_pretrained(source.name, revision=source.revision)
    except OSError:  # the base has none
        return GenerationConfig.from_model_config(model.config)
