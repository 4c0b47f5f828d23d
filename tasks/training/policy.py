"""The policy: tokenizer, adapters, and the precision its weights are trained in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from peft import LoraConfig
from transformers import AutoTokenizer

from configs.settings import LaunchSettings, LoraSettings, PolicySettings, TrainSettings
from tasks.core.models import ModelSource

PROBE_CHAT = [{"role": "user", "content": "?"}]


def load_tokenizer(source: ModelSource) -> Any:
    """The model's tokenizer, padding on the left.

    Raises:
        ValueError: it has no chat template, or one without a generation prompt.
    """
    tokenizer = AutoTokenizer.from_pretrained(source.name, revision=source.revision, padding_side="left")
    if tokenizer.chat_template is None:
        raise ValueError(f"{source.name} has no chat template: choose an instruction-tuned model")
    bare, prompted = (
        tokenizer.apply_chat_template(PROBE_CHAT, tokenize=False, add_generation_prompt=wanted)
        for wanted in (False, True)
    )
    if bare == prompted:
        raise ValueError(
            f"the chat template of {source.name} ignores add_generation_prompt, so the policy would not know that "
            "it is its turn: repair the template in tokenizer_config.json"
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def token_counts(tokenizer: Any, chats: Sequence[Sequence[dict[str, str]]], prompt_only: bool) -> list[int]:
    """Tokens of each chat; with the generation prompt where the chat is a prompt only."""
    if not chats:
        return []
    texts = tokenizer.apply_chat_template(list(chats), tokenize=False, add_generation_prompt=prompt_only)
    return [len(ids) for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]]


def weights_dtype(policy: PolicySettings, train: TrainSettings) -> str:
    """Type that the weights are loaded in.

    A full-parameter step at rate 1e-6 is smaller than bfloat16 can represent beside a weight, so it would be
    lost: without DeepSpeed, which keeps float32 copies itself, all parameters are held in float32 and computed
    with in bfloat16. Adapters are float32 of their own accord, so their frozen base stays small.
    """
    if train.launch.cpu or (train.lora is None and train.launch.deepspeed == "none"):
        return "float32"
    return policy.dtype


def model_arguments(source: ModelSource, policy: PolicySettings, train: TrainSettings) -> dict[str, Any]:
    """Arguments of ``from_pretrained``; TRL loads the KL reference with the same."""
    arguments: dict[str, Any] = {
        "dtype": weights_dtype(policy, train),
        "revision": source.revision,
        "device_map": None,  # the trainer places the model
    }
    if train.launch.attention != "default":
        arguments["attn_implementation"] = train.launch.attention
    return arguments


def lora_config(lora: LoraSettings | None) -> LoraConfig | None:
    """PEFT's configuration, or None to train all parameters."""
    if lora is None:
        return None
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=lora.target_modules,
        task_type="CAUSAL_LM",
    )


def prepare_cpu(launch: LaunchSettings) -> None:
    """CPU training is for tiny models, which one thread serves best."""
    if launch.cpu:
        torch.set_num_threads(1)
