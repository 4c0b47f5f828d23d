"""Training: every method's model of every seed."""

from __future__ import annotations

from collections.abc import Mapping

from configs.settings import GrpoSettings, MethodSettings, SftSettings
from flows.run import Run
from flows.stages import Future
from tasks.training.configs import SftConfig
from tasks.training.grpo_config import GrpoConfig

Models = dict[tuple[str, int], Future]
"""A model by method and seed."""


def train(
    run: Run, base: Mapping[int, Future], questions: Future, references: Future, labels: Mapping[int, Future]
) -> Models:
    """The models of the table; the row that trains nothing has the base model."""
    data = {"questions": questions, "references": references}
    return {
        (name, seed): base[seed]
        if method.trainer == "none"
        else _train(run, name, method, seed, {"model": base[seed], **data}, labels[seed])
        for name, method in run.settings.methods.items()
        for seed in run.settings.seeds
    }


def _train(run: Run, name: str, method: MethodSettings, seed: int, inputs: dict[str, Future], labels: Future) -> Future:
    settings, label = run.settings, f"train {name} seed {seed}"
    if method.trainer == "grpo":
        assert method.reward is not None
        grpo = GrpoConfig(
            method=name,
            reward=settings.rewards[method.reward],
            train=settings.train.model_copy(update={"sft": SftSettings()}),  # not read, so no part of the key
            policy=settings.policy,
            generation=settings.generation,
            templates=run.training_templates,
            instrument=run.instrument,
            seed=seed,
        )
        return run.submit("model", "flows.grpo:run", label, grpo, inputs)
    assert method.targets is not None
    sft = SftConfig(
        method=name,
        targets=method.targets,
        train=settings.train.model_copy(update={"grpo": GrpoSettings()}),  # not read, so no part of the key
        policy=settings.policy,
        templates=run.training_templates,
        seed=seed,
    )
    if method.targets == "refuse_ook":
        inputs = {**inputs, "labels": labels}
    return run.submit("model", "tasks.training.sft:run", label, sft, inputs)
