"""Probing: what each seed's base model knows."""

from __future__ import annotations

from collections.abc import Mapping

from flows.run import Run
from flows.stages import Future
from tasks.probing.probe import ProbeConfig


def probe(run: Run, base: Mapping[int, Future], questions: Future, references: Future) -> dict[int, Future]:
    """labels.parquet and responses.parquet of each seed."""
    return {seed: _probe(run, seed, base[seed], questions, references) for seed in run.settings.seeds}


def _probe(run: Run, seed: int, model: Future, questions: Future, references: Future) -> Future:
    settings = run.settings
    config = ProbeConfig(
        probe=settings.probe,
        generation=settings.generation,
        policy=settings.policy,
        templates=run.training_templates,
        instrument=run.instrument,
        seed=seed,
    )
    inputs = {"model": model, "questions": questions, "references": references}
    return run.submit("labels", "tasks.probing.probe:run", f"probe seed {seed}", config, inputs)
