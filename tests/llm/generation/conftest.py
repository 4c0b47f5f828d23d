"""A random Qwen3 of two layers with a byte-level tokenizer: small enough to load in a moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from configs.settings import GenerationSettings, PolicySettings
from tasks.core.models import ModelSource

TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SENTENCES = [
    "Ada Lovelace was born in London in 1815.",
    "Who wrote the first program for the engine?",
    "I don't know, but the question is a good one.",
    "The engine was never built in her lifetime.",
]


def build(folder: Path) -> Path:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    torch.set_num_threads(1)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|stop|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<|pad|>", eos_token="<|end|>")
    wrapped.chat_template = TEMPLATE
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(wrapped),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            head_dim=32,
            intermediate_size=128,
            max_position_embeddings=256,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=1,
            pad_token_id=0,
            initializer_range=0.2,
        )
    )
    model.generation_config.eos_token_id = [1, 4]
    # Defaults of a model that no back end may apply by itself.
    model.generation_config.do_sample = True
    model.generation_config.top_k = 1
    model.save_pretrained(folder)
    wrapped.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> ModelSource:
    return ModelSource(name=str(build(tmp_path_factory.mktemp("model"))))


@pytest.fixture
def policy() -> PolicySettings:
    return PolicySettings(dtype="float32", max_context_tokens=128)


@pytest.fixture
def generation() -> Any:
    def make(**changes: Any) -> GenerationSettings:
        return GenerationSettings(**{"backend": "transformers", "batch": 16, "device": "cpu", **changes})

    return make
