from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from configs.settings import LaunchSettings, LoraSettings, PolicySettings, TrainSettings
from tasks.core.models import ModelSource
from tasks.training.arguments import accumulation
from tasks.training.policy import load_tokenizer, lora_config, model_arguments, token_counts, weights_dtype

BF16 = PolicySettings(dtype="bfloat16")


def test_all_parameters_are_held_in_float32_unless_deepspeed_holds_them() -> None:
    assert weights_dtype(BF16, TrainSettings()) == "float32"
    assert weights_dtype(BF16, TrainSettings(launch=LaunchSettings(deepspeed="zero3-offload"))) == "bfloat16"
    assert weights_dtype(BF16, TrainSettings(lora=LoraSettings())) == "bfloat16"
    assert weights_dtype(BF16, TrainSettings(lora=LoraSettings(), launch=LaunchSettings(cpu=True))) == "float32"


def test_attention_and_revision_reach_the_model() -> None:
    train = TrainSettings(launch=LaunchSettings(attention="flash_attention_2"))
    found = model_arguments(ModelSource(name="org/model", revision="abc"), BF16, train)
    assert found["attn_implementation"] == "flash_attention_2"
    assert found["revision"] == "abc"
    assert "attn_implementation" not in model_arguments(ModelSource(name="org/model"), BF16, TrainSettings())


def test_lora_settings_reach_peft() -> None:
    assert lora_config(None) is None
    found = lora_config(LoraSettings(rank=8, alpha=64, dropout=0.1))
    assert found is not None
    assert (found.r, found.lora_alpha, found.lora_dropout, found.target_modules) == (8, 64, 0.1, "all-linear")


def test_tokens_are_counted_with_the_template(tiny_model: Path) -> None:
    tokenizer = load_tokenizer(ModelSource(name=str(tiny_model)))
    assert tokenizer.padding_side == "left"
    user = [{"role": "user", "content": "Oslo"}]
    answered = [*user, {"role": "assistant", "content": "Oslo"}]
    oslo = len(tokenizer("Oslo", add_special_tokens=False)["input_ids"])
    assert token_counts(tokenizer, [user], prompt_only=True) == [2 + oslo]  # <|user|> and <|assistant|>
    assert token_counts(tokenizer, [answered], prompt_only=False) == [3 + 2 * oslo]  # and <|end|>
    assert token_counts(tokenizer, [], prompt_only=True) == []


@pytest.mark.parametrize(
    ("template", "message"),
    [(None, "no chat template"), ("{{ messages[0]['content'] }}", "ignores add_generation_prompt")],
)
def test_a_template_that_cannot_prompt_is_refused(
    tiny_model: Path, tmp_path: Path, template: str | None, message: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_model, folder)
    file = folder / "chat_template.jinja"
    assert file.exists()
    if template is None:
        file.unlink()
    else:
        file.write_text(template)
    with pytest.raises(ValueError, match=message):
        load_tokenizer(ModelSource(name=str(folder)))


def test_accumulation_makes_up_the_batch() -> None:
    assert accumulation(512, 8, 8, "grpo") == 8
    with pytest.raises(ValueError, match=r"train\.grpo: a batch of 512"):
        accumulation(512, 24, 1, "grpo")
