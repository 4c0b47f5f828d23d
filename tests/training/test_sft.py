from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from configs.settings import LaunchSettings, LoraSettings, PolicySettings, SftSettings, TrainSettings
from tasks.training import sft
from tasks.training.callbacks import MetricsCallback
from tasks.training.configs import SftConfig
from tasks.training.session import Session
from tasks.training.sft import count_steps

TEMPLATES = {"closed_book": "{question}", "retrieval": "{references}\n{question}"}


def config(lora: LoraSettings | None = None, checkpoint_steps: int = 50, **changes: Any) -> SftConfig:
    train = TrainSettings(
        lora=lora,
        sft=SftSettings(learning_rate=1e-2, batch=8, device_batch=4, epochs=2, max_tokens=100),
        launch=LaunchSettings(cpu=True, gradient_checkpointing=False, checkpoint_steps=checkpoint_steps),
        trackers=(),
    )
    fields: dict[str, Any] = {
        "method": "sft",
        "targets": "gold",
        "train": train,
        "policy": PolicySettings(dtype="float32", max_context_tokens=128),
        "templates": TEMPLATES,
        "seed": 3,
    }
    return SftConfig(**{**fields, **changes})


def test_writes_an_ordinary_model_folder_with_its_curves(make_job: Any, tiny_model: Any) -> None:
    job = make_job("sft", config())
    result = sft.run(job)
    assert result.rows == 6  # 24 examples / batch 8 x 2 epochs
    assert result.counts == {"examples": 24, "steps": 6, "resumed_step": 0}
    rows = [json.loads(line) for line in (job.data / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert rows[0]["learning_rate"] == 0.0  # one warm-up step of 6 x 3%, which starts at 0
    assert rows[1]["learning_rate"] == pytest.approx(1e-2)
    assert json.loads((job.data / "meta.json").read_text()) == {"method": "sft", "seed": 3, "trainer": "sft"}
    model = AutoModelForCausalLM.from_pretrained(job.data)
    assert AutoTokenizer.from_pretrained(job.data).chat_template is not None
    before = AutoModelForCausalLM.from_pretrained(tiny_model).state_dict()
    assert any(not torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    snapshot = json.loads((job.work / "progress.json").read_text())
    assert (snapshot["done"], snapshot["total"], snapshot["unit"]) == (6, 6, "steps")
    assert snapshot["metrics"]["loss"] == rows[-1]["loss"]


@pytest.mark.parametrize("lora", [None, LoraSettings(rank=4, alpha=8)], ids=["full", "lora"])
def test_resume_after_kill_is_bit_equal(make_job: Any, lora: LoraSettings | None, helping: Any) -> None:
    straight = make_job("straight", config(lora))
    sft.run(straight)
    killed = make_job("killed", config(lora, checkpoint_steps=2))

    def die_after_step_five() -> None:
        record = MetricsCallback.on_log

        def on_log(self: Any, args: Any, state: Any, *rest: Any, **more: Any) -> None:
            record(self, args, state, *rest, **more)
            if state.global_step == 5:
                helping.kill_self()

        MetricsCallback.on_log = on_log  # type: ignore[method-assign]
        sft.run(killed)

    helping.run_and_die(die_after_step_five)
    assert len((killed.work / "metrics.jsonl").read_text().splitlines()) == 5
    result = sft.run(killed)
    assert result.counts["resumed_step"] == 4
    assert helping.same_weights(straight.data, killed.data)
    assert (straight.data / "metrics.jsonl").read_bytes() == (killed.data / "metrics.jsonl").read_bytes()


def test_run_that_ended_between_its_last_step_and_its_result(make_job: Any, helping: Any) -> None:
    straight = make_job("straight", config())
    sft.run(straight)
    again = make_job("again", config(checkpoint_steps=6))
    sft.run(again)
    assert sft.run(again).counts["resumed_step"] == 6
    assert helping.same_weights(straight.data, again.data)


def test_r_tuning_needs_labels_and_other_targets_make_another_model(make_job: Any, helping: Any) -> None:
    gold, tuned = make_job("gold", config()), make_job("tuned", config(targets="refuse_ook", method="r-tuning"))
    sft.run(gold)
    assert sft.run(tuned).counts["examples"] == 24
    assert not helping.same_weights(gold.data, tuned.data)


def test_only_the_completion_is_learned(make_job: Any) -> None:
    """The trainer's own labels, decoded: nothing of the prompt, all of the completion and its end."""
    job = make_job("labels", config())
    session = Session.open(job, config().policy, config().train)
    examples, _ = sft._examples(job, config(), session.tokenizer)
    trainer = sft._trainer(session, config(), examples, 6)
    row = trainer.train_dataset[0]
    learned = [token for token in row["labels"] if token != -100]
    assert session.tokenizer.decode(learned) == "<think></think>\\boxed{Oslo}<|end|>"
    assert session.tokenizer.decode(row["input_ids"]).startswith("<|user|>Where does person 0 live?<|assistant|>")


def test_examples_over_the_limit_are_dropped_and_counted(make_job: Any) -> None:
    train = config().train
    short = train.model_copy(update={"sft": train.sft.model_copy(update={"max_tokens": 18})})
    result = sft.run(make_job("short", config(train=short)))
    assert result.dropped == {"too_long": 12}  # with references 23 tokens, without 14
    assert result.counts["examples"] == 12


def test_nothing_left_is_an_error_that_says_why(make_job: Any) -> None:
    train = config().train
    none = train.model_copy(update={"sft": train.sft.model_copy(update={"max_tokens": 5})})
    with pytest.raises(ValueError, match=r"too_long.*24"):
        sft.run(make_job("none", config(train=none)))


def test_batch_must_be_made_up_of_device_batches(make_job: Any) -> None:
    train = config().train
    odd = train.model_copy(update={"sft": train.sft.model_copy(update={"device_batch": 3})})
    with pytest.raises(ValueError, match=r"train\.sft: a batch of 8"):
        sft.run(make_job("odd", config(train=odd)))


def test_steps_count_a_smaller_last_batch() -> None:
    train = TrainSettings(sft=SftSettings(batch=16, epochs=3))
    assert count_steps(33, train) == 9
