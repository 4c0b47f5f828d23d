"""The closed world and the base model: what stands in for the outside, or points to it."""

from __future__ import annotations

from flows.run import Run
from flows.stages import Future, FutureInputs
from sandbox.stage import WorldConfig
from tasks.training.configs import BaseConfig, TokenizerConfig


def build_world(run: Run) -> Future | None:
    """Question sets, pages and text of the closed world; None where the run is on real data."""
    world = run.settings.world
    if world is None:
        return None
    return run.submit("world", "sandbox.stage:run", "world", WorldConfig(world=world), {})


def take_tokenizer(run: Run, world: Future | None) -> Future:
    """The policy's tokenizer, trained on the world's text or taken from the hub."""
    config = TokenizerConfig.of(run.settings.policy)
    return run.submit("tokenizer", "tasks.training.tokenizer:run", "tokenizer", config, optional(world=world))


def take_base(run: Run, world: Future | None, tokenizer: Future) -> dict[int, Future]:
    """The base model of each seed: trained from scratch on the world's text, or a pointer to the hub."""
    inputs = {**optional(world=world), "tokenizer": tokenizer}
    if world is None:
        pointer = run.submit("model", "tasks.training.base:run", "base model", _config(run, seed=0), inputs)
        return dict.fromkeys(run.settings.seeds, pointer)
    return {
        seed: run.submit("model", "tasks.training.base:run", f"base model seed {seed}", _config(run, seed), inputs)
        for seed in run.settings.seeds
    }


def optional(**inputs: Future | None) -> FutureInputs:
    """Inputs without those that this run does not have."""
    return {name: future for name, future in inputs.items() if future is not None}


def _config(run: Run, seed: int) -> BaseConfig:
    return BaseConfig(policy=run.settings.policy, templates=run.training_templates, seed=seed)
