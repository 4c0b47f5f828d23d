"""Body of a GRPO stage: the one place where a reward meets a trainer, which do not know each other."""

from __future__ import annotations

from tasks.core.artifacts import StageResult
from tasks.core.stage import Job
from tasks.rewards.registry import build_reward
from tasks.training.grpo import train
from tasks.training.grpo_config import GrpoConfig
from tasks.training.launch import add_costs
from tasks.verify.instrument import open_grader


def run(job: Job) -> StageResult:
    """Inputs: model, questions, references. Writes the model folder, metrics.jsonl and rollouts.parquet."""
    config = job.settings(GrpoConfig)
    with open_grader(config.instrument, job) as (grader, client):
        result = train(job, config, build_reward("table", config.reward, grader))
        return result.model_copy(update={"cost": add_costs([result.cost, client.cost()])})
