from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from configs.settings import (
    EndpointSettings,
    GenerationSettings,
    GrpoSettings,
    JudgeSettings,
    LaunchSettings,
    LoraSettings,
    PolicySettings,
    RewardSettings,
    TrainSettings,
)
from tasks.core.records import Outcome, Verdict
from tasks.core.rows import read_rows
from tasks.training.grpo import grpo_arguments, train
from tasks.training.grpo_config import GrpoConfig
from tasks.training.guards import ConstantReward
from tasks.training.rollouts import Rollout
from tasks.training.session import Session
from tasks.verify.grader import GradeItem, TooManyUnscored
from tasks.verify.instrument import Instrument

VALUES = {Outcome.CORRECT: 1.0, Outcome.ABSTAINED: 0.0, Outcome.INCORRECT: -1.0, Outcome.UNSCORED: None}


def config(
    lora: LoraSettings | None = None, checkpoint_steps: int = 50, launch: dict[str, Any] | None = None, **grpo: Any
) -> GrpoConfig:
    figures: dict[str, Any] = {
        "learning_rate": 1e-3,
        "steps": 6,
        "batch_prompts": 4,
        "group": 4,
        "device_batch": 8,
        "kl_beta": 1e-2,
        "max_new_tokens": 6,
        "vllm": False,
    }
    started = {"cpu": True, "gradient_checkpointing": False, "checkpoint_steps": checkpoint_steps, **(launch or {})}
    return GrpoConfig(
        method="truthrl",
        reward=RewardSettings(correct=1, abstained=0, incorrect=-1),
        train=TrainSettings(
            lora=lora, grpo=GrpoSettings(**{**figures, **grpo}), launch=LaunchSettings(**started), trackers=()
        ),
        policy=PolicySettings(dtype="float32", max_context_tokens=128),
        generation=GenerationSettings(),
        templates={"closed_book": "{question}", "retrieval": "{references}\n{question}"},
        instrument=Instrument(judge=JudgeSettings(), template="{question}", endpoint=EndpointSettings(model="judge")),
        seed=3,
    )


@dataclass(frozen=True)
class Score:
    value: float | None
    verdict: Verdict


def score(outcome: Outcome) -> Score:
    return Score(VALUES[outcome], Verdict(outcome=outcome, answer=None, via="judge", detail="timeout: stalled"))


class HashedReward:
    """Outcomes that depend on the text alone; counts its calls, and dies in the one it is told to."""

    def __init__(self, outcomes: Sequence[Outcome], die_at_call: int = 0, die: Any = None) -> None:
        self.outcomes = outcomes
        self.sizes: list[int] = []
        self.die_at_call = die_at_call
        self.die = die

    def __call__(self, items: Sequence[GradeItem]) -> list[Score]:
        self.sizes.append(len(items))
        if len(self.sizes) == self.die_at_call:
            self.die()
        return [score(self.outcomes[zlib.crc32(item.text.encode()) % len(self.outcomes)]) for item in items]


SCORED = (Outcome.CORRECT, Outcome.INCORRECT, Outcome.ABSTAINED)
ANY = (*SCORED, *SCORED, *SCORED, Outcome.UNSCORED)


def metrics(job: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (job.data / "metrics.jsonl").read_text().splitlines()]


def test_one_reward_call_a_step_and_every_rollout_kept(make_job: Any, helping: Any, tiny_model: Any) -> None:
    job, reward = make_job("grpo", config(), unscored_limit=0.5), HashedReward(ANY)
    result = train(job, config(), reward)
    assert reward.sizes == [16] * 6  # 4 prompts x 4 completions, all judged together
    assert not helping.same_weights(tiny_model, job.data)
    rollouts = list(read_rows(job.data / "rollouts.parquet", Rollout))
    assert [row.step for row in rollouts] == [step for step in range(1, 7) for _ in range(16)]
    assert all(row.reward == VALUES[row.verdict.outcome] for row in rollouts)
    assert any(row.reward is None for row in rollouts)
    assert all(row.tokens <= 6 for row in rollouts)
    assert result.counts["rollouts"] == 96
    assert sum(result.counts[outcome] for outcome in Outcome) == 96
    assert result.unscored == {"timeout": result.counts["unscored"]}
    rows = metrics(job)
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    for row in rows:
        assert row["correct"] + row["abstained"] + row["incorrect"] + row["unscored"] == pytest.approx(1.0)
        mean = [rollout.reward for rollout in rollouts if rollout.step == row["step"] and rollout.reward is not None]
        assert row["reward"] == pytest.approx(sum(mean) / len(mean), abs=1e-6)
        assert row["learning_rate"] == 1e-3
        assert row["kl"] is not None
        assert row["completion_length"] <= 6
    assert json.loads((job.data / "meta.json").read_text()) == {"method": "truthrl", "seed": 3, "trainer": "grpo"}
    generation = json.loads((job.data / "generation_config.json").read_text())
    assert "temperature" not in generation  # the rollouts' sampling does not leak into the model


@pytest.mark.slow
@pytest.mark.parametrize("lora", [None, LoraSettings(rank=4, alpha=8)], ids=["full", "lora"])
def test_resume_after_kill_is_bit_equal(make_job: Any, helping: Any, lora: LoraSettings | None) -> None:
    straight = make_job("straight", config(lora), unscored_limit=0.5)
    train(straight, config(lora), HashedReward(ANY))
    often = config(lora, checkpoint_steps=3)
    killed = make_job("killed", often, unscored_limit=0.5)
    helping.run_and_die(lambda: train(killed, often, HashedReward(ANY, 5, helping.kill_self)))
    assert (killed.work / "checkpoints" / "checkpoint-3").exists()
    reward = HashedReward(ANY)
    assert train(killed, often, reward).counts["resumed_step"] == 3
    assert reward.sizes == [16] * 3
    assert helping.same_weights(straight.data, killed.data)
    for name in ("metrics.jsonl", "rollouts.parquet"):
        assert (straight.data / name).read_bytes() == (killed.data / name).read_bytes()


def test_a_batch_without_any_score_teaches_nothing_and_does_not_crash(
    make_job: Any, helping: Any, tiny_model: Any
) -> None:
    blind = config(steps=2, kl_beta=0.0)
    job = make_job("blind", blind, unscored_limit=1.0)
    train(job, blind, HashedReward([Outcome.UNSCORED]))
    assert helping.same_weights(tiny_model, job.data)  # advantage 0 everywhere: not a bit has moved
    assert [row["reward"] for row in metrics(job)] == [None, None]
    assert [row["unscored"] for row in metrics(job)] == [1.0, 1.0]


def test_an_unscored_completion_does_not_change_what_the_others_teach(make_job: Any) -> None:
    """TRL's advantages: the group's mean is taken over scored rewards; the masked one gets 0."""
    once = config(steps=1, batch_prompts=1, group=4, device_batch=4, kl_beta=0.0)
    job = make_job("masked", once, unscored_limit=1.0)
    seen: list[list[float]] = []

    def rewards(items: Sequence[GradeItem]) -> list[Score]:
        assert len(items) == 4
        return [score(outcome) for outcome in (Outcome.CORRECT, Outcome.UNSCORED, Outcome.INCORRECT, Outcome.ABSTAINED)]

    from trl import GRPOTrainer

    original = GRPOTrainer._generate_and_score_completions

    def spy(self: Any, inputs: Any) -> Any:
        scored = original(self, inputs)
        seen.append(scored["advantages"].tolist())
        return scored

    GRPOTrainer._generate_and_score_completions = spy
    try:
        train(job, once, rewards)
    finally:
        GRPOTrainer._generate_and_score_completions = original
    # Rewards 1, -, -1, 0: mean 0, deviation 1 (of three), so 1 / (1 + 1e-4).
    assert seen == [[pytest.approx(0.9999, abs=1e-6), 0.0, pytest.approx(-0.9999, abs=1e-6), 0.0]]


def test_too_many_unscored_stop_the_run(make_job: Any) -> None:
    job = make_job("outage", config(), unscored_limit=0.05)
    with pytest.raises(TooManyUnscored):
        train(job, config(), HashedReward([Outcome.UNSCORED, Outcome.CORRECT, Outcome.INCORRECT]))


def test_constant_reward_stops_the_run(make_job: Any) -> None:
    reward, short = HashedReward([Outcome.INCORRECT]), config(constant_reward_steps=3)
    with pytest.raises(ConstantReward, match="last 3 steps got the reward -1"):
        train(make_job("constant", short), short, reward)
    assert len(reward.sizes) == 3


def test_too_few_prompts_are_refused_before_training(make_job: Any) -> None:
    many = config(batch_prompts=64)
    with pytest.raises(ValueError, match="batch_prompts is 64, but there are only 24"):
        train(make_job("few", many), many, HashedReward(SCORED))


def test_prompts_without_room_for_a_completion_are_dropped(make_job: Any) -> None:
    tight = config(max_new_tokens=80, steps=1)
    job = make_job("tight", tight, unscored_limit=1.0)
    tight = tight.model_copy(update={"policy": PolicySettings(dtype="float32", max_context_tokens=95)})
    result = train(job, tight, HashedReward(SCORED))
    assert result.dropped == {"too_long": 12}  # the ones with references
    assert result.counts["prompts"] == 12


def arguments(make_job: Any, settings: GrpoConfig) -> dict[str, Any]:
    job = make_job("arguments", settings)
    return grpo_arguments(Session.open(job, settings.policy, settings.train), settings)


def test_figures_of_the_paper_reach_the_trainer(make_job: Any) -> None:
    paper = GrpoSettings()
    settings = config(**paper.model_dump(exclude={"vllm"}))
    found = arguments(make_job, settings)
    assert found["learning_rate"] == 1e-6
    assert found["lr_scheduler_type"] == "constant"
    assert found["beta"] == 1e-3
    assert (found["epsilon"], found["epsilon_high"]) == (0.2, 0.2)
    assert found["max_completion_length"] == 2048
    assert (found["temperature"], found["top_p"]) == (1.0, 1.0)
    assert found["per_device_train_batch_size"] * found["gradient_accumulation_steps"] == 64 * 8
    assert found["scale_rewards"] == "group"


@pytest.mark.parametrize("loss", ["grpo", "dapo", "bnpo", "dr_grpo"])
def test_every_loss_type_trains(make_job: Any, loss: str) -> None:
    settings = config(loss=loss, steps=1, clip_high=0.28)
    assert arguments(make_job, settings)["scale_rewards"] == ("none" if loss == "dr_grpo" else "group")
    train(make_job(loss, settings, unscored_limit=1.0), settings, HashedReward(SCORED))


def test_vllm_shares_the_training_gpus(make_job: Any) -> None:
    gpus = config(vllm=True, launch={"cpu": False, "processes": 8})
    vllm = gpus.generation.vllm.model_copy(update={"tensor_parallel": 2, "gpu_memory_share": 0.8})
    gpus = gpus.model_copy(update={"generation": gpus.generation.model_copy(update={"vllm": vllm})})
    with pytest.raises(ValueError, match="a batch of 16 is not made up of device_batch 8 x 8"):
        arguments(make_job, gpus)
    grpo = gpus.train.grpo.model_copy(update={"batch_prompts": 64, "group": 8})
    gpus = gpus.model_copy(update={"train": gpus.train.model_copy(update={"grpo": grpo})})
    found = arguments(make_job, gpus)
    assert found["use_vllm"] is True
    assert found["vllm_mode"] == "colocate"
    assert found["vllm_tensor_parallel_size"] == 2
    assert found["vllm_gpu_memory_utilization"] == 0.8
    assert found["vllm_max_model_length"] == 128
    assert found["bf16"] is False  # the policy is float32 here
    assert found["gradient_accumulation_steps"] == 8


def test_vllm_on_a_cpu_is_refused(make_job: Any) -> None:
    with pytest.raises(ValueError, match=r"train\.grpo\.vllm needs a GPU"):
        arguments(make_job, config(vllm=True))
