"""Evaluation: every method's model of every seed on every test question."""

from __future__ import annotations

from flows.run import Run
from flows.stages import Future
from flows.train import Models
from tasks.evaluation.evaluate import EvaluateConfig


def evaluate(run: Run, models: Models, questions: Future, references: Future) -> Models:
    """responses.parquet by method and seed."""
    return {
        (method, seed): run.submit(
            "evaluation",
            "tasks.evaluation.evaluate:run",
            f"evaluate {method} seed {seed}",
            _config(run, method, seed),
            {"model": model, "questions": questions, "references": references},
        )
        for (method, seed), model in models.items()
    }


def _config(run: Run, method: str, seed: int) -> EvaluateConfig:
    settings = run.settings
    return EvaluateConfig(
        method=method,
        seed=seed,
        max_new_tokens=settings.evaluate.max_new_tokens,
        generation=settings.generation,
        policy=settings.policy,
        templates=run.evaluation_templates,
        instrument=run.instrument,
    )
