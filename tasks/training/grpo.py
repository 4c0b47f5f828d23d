"""Group-relative policy optimisation with any reward: one adapter over TRL's GRPOTrainer.

TruthRL section 3.2: for a group of G completions o_i of one prompt with rewards r_i the advantage is
A_i = (r_i - mean(r)) / std(r), the loss the clipped policy ratio times A_i with a KL penalty beta against the base
model. App. C: constant rate 1e-6, batch 64, beta 1e-3, clip 0.2, 2,048 new tokens, temperature 1, top-p 1, vLLM.

Loss types: `grpo` (mean over a completion's tokens, then over completions), `bnpo` (mean over all tokens of a forward
pass), `dapo` (mean over all tokens of the step), `dr_grpo` (sum over the longest possible length, rewards not divided
by their deviation). clip_high above clip_low is DAPO's clip-higher.

Departures: TRL adds 1e-4 to the deviation; a completion whose judge failed has no reward and no part in its group's
mean; with vLLM, TRL corrects for the difference between its and the trainer's probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datasets import Dataset
from trl import GRPOConfig as TrlConfig
from trl import GRPOTrainer

from tasks.core.artifacts import StageResult
from tasks.core.rows import write_rows
from tasks.core.stage import Job
from tasks.training.arguments import accumulation, shared_arguments
from tasks.training.checkpoints import rewound
from tasks.training.completion_scoring import CpuGRPOTrainer
from tasks.training.grpo_config import GrpoConfig
from tasks.training.launch import launch, needs_launch, rank
from tasks.training.policy import lora_config, model_arguments, token_counts
from tasks.training.questions import asked_for_training
from tasks.training.rollouts import (
    Reward,
    Rollout,
    RolloutGuards,
    RolloutReward,
    RolloutTally,
    all_rollouts,
    journal_path,
)
from tasks.training.session import Session
from tasks.verify.asking import Asked


def train(job: Job, config: GrpoConfig, reward: Reward) -> StageResult:
    """Inputs: model, questions, references. Writes a model folder with its curves and rollouts.parquet.

    Args:
        reward: scores all completions of a step in one call.

    Raises:
        ValueError: batch sizes do not fit, or too few prompts for a step.
        TooManyUnscored, ConstantReward: see :mod:`tasks.training.guards`.
    """
    settings = config.train
    if needs_launch(settings.launch):
        return launch(job, settings.launch)
    session = Session.open(job, config.policy, settings)
    asked, dropped = _prompts(job, config, session.tokenizer)
    guards = RolloutGuards(min(settings.grpo.constant_reward_steps, settings.grpo.steps), job.run.unscored_limit)
    with rewound(journal_path(job.work, rank()), Rollout, session.resumed_step) as journal:
        guards.replay(journal)
        rollouts = RolloutReward(reward, asked, session.tokenizer, journal, guards)
        trainer = _trainer(session, config, asked, rollouts)
        session.run(trainer, settings.grpo.steps)
    guards.finish()
    session.save(trainer, {"method": config.method, "seed": config.seed, "trainer": "grpo"})
    return _result(job, config, session, len(asked), dropped)


def _prompts(job: Job, config: GrpoConfig, tokenizer: Any) -> tuple[list[Asked], dict[str, int]]:
    """Prompts that leave room for a completion, and what was dropped."""
    grpo = config.train.grpo
    asked = asked_for_training(job, config.templates)
    room = config.policy.max_context_tokens - grpo.max_new_tokens
    lengths = token_counts(tokenizer, [prompt.messages for prompt in asked], prompt_only=True)
    kept = [prompt for prompt, length in zip(asked, lengths, strict=True) if length <= room]
    if len(kept) < grpo.batch_prompts:
        # TRL would train 0 steps and end as if all were well.
        raise ValueError(
            f"train.grpo.batch_prompts is {grpo.batch_prompts}, but there are only {len(kept)} training prompts "
            f"({len(asked) - len(kept)} of {len(asked)} leave no room for a completion in policy.max_context_tokens): "
            "lower it, or use more questions"
        )
    return kept, {"too_long": len(asked) - len(kept)} if len(kept) < len(asked) else {}


def _trainer(session: Session, config: GrpoConfig, asked: Sequence[Asked], rollouts: RolloutReward) -> Any:
    # Arguments come before the model: DeepSpeed shards weights as they are loaded only if it knows of them.
    arguments = TrlConfig(**grpo_arguments(session, config))
    rows = {"prompt": [prompt.messages for prompt in asked], "row": list(range(len(asked)))}
    trainer = (CpuGRPOTrainer if config.train.launch.cpu else GRPOTrainer)(
        model=session.source.name,
        reward_funcs=[rollouts.reward],
        args=arguments,
        train_dataset=Dataset.from_dict(rows),
        processing_class=session.tokenizer,
        peft_config=lora_config(config.train.lora),
    )
    rollouts.ends_with(trainer.eos_token_ids)
    return trainer


def grpo_arguments(session: Session, config: GrpoConfig) -> dict[str, Any]:
    """TRL's arguments. One generation a step: every step is on-policy and a boundary to resume from."""
    grpo, processes = config.train.grpo, config.train.launch.processes
    return {
        **shared_arguments(session.job, config.policy, config.train, config.seed),
        "model_init_kwargs": model_arguments(session.source, config.policy, config.train),
        "max_steps": grpo.steps,
        "per_device_train_batch_size": grpo.device_batch,
        "gradient_accumulation_steps": accumulation(
            grpo.batch_prompts * grpo.group, grpo.device_batch, processes, "grpo"
        ),
        "num_generations": grpo.group,
        "learning_rate": grpo.learning_rate,
        "lr_scheduler_type": "constant",
        "beta": grpo.kl_beta,
        "epsilon": grpo.clip_low,
        "epsilon_high": grpo.clip_high,
        "loss_type": grpo.loss,
        "scale_rewards": "none" if grpo.loss == "dr_grpo" else "group",
        "temperature": grpo.temperature,
        "top_p": grpo.top_p,
        "max_completion_length": grpo.max_new_tokens,
        **(_vllm_arguments(config) if grpo.vllm else {}),
    }


def _vllm_arguments(config: GrpoConfig) -> dict[str, Any]:
    launch_settings, vllm = config.train.launch, config.generation.vllm
    if launch_settings.cpu:
        raise ValueError("train.grpo.vllm needs a GPU: set it to false where train.launch.cpu is true")
    if launch_settings.processes % vllm.tensor_parallel:
        raise ValueError(
            f"generation.vllm.tensor_parallel {vllm.tensor_parallel} does not divide train.launch.processes "
            f"{launch_settings.processes}: rollouts share the training's GPUs"
        )
    return {
        "use_vllm": True,
        "vllm_mode": "colocate",
        "vllm_tensor_parallel_size": vllm.tensor_parallel,
        "vllm_gpu_memory_utilization": vllm.gpu_memory_share,
        "vllm_max_model_length": config.policy.max_context_tokens,
    }


def _result(job: Job, config: GrpoConfig, session: Session, prompts: int, dropped: dict[str, int]) -> StageResult:
    if rank() != 0:
        return StageResult(rows=0)
    tally = RolloutTally()
    rollouts = tally.through(all_rollouts(job.work, config.train.launch.processes))
    written = write_rows(job.data / "rollouts.parquet", rollouts)
    steps = config.train.grpo.steps
    return StageResult(
        rows=steps,
        counts={
            "prompts": prompts,
            "steps": steps,
            "resumed_step": session.resumed_step,
            "rollouts": written,
            **tally.counts(),
        },
        dropped=dropped,
        unscored=dict(tally.reasons),
    )
