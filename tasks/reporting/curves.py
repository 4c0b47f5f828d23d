"""Training curves as the trainers logged them: one JSON line a step in each model's metrics.jsonl."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tasks.core.records import Record

CURVES = {
    "reward": "Reward",
    "loss": "Loss",
    "abstained": "Abstention, % of completions",
    "correct": "Correct, % of completions",
    "incorrect": "Incorrect, % of completions",
    "completion_length": "Completion length, tokens",
}
"""Figures that are drawn, in this order, where a trainer logs them."""
SHARES = ("correct", "abstained", "incorrect")


class TrainingRun(Record):
    """One model's curves: name -> (step, value) pairs. Steps without a finite value are left out."""

    method: str
    seed: int
    trainer: str
    curves: dict[str, tuple[tuple[float, float], ...]]
    unscored_share: float | None
    """Mean share of completions that were masked because the grader failed; None where not logged."""


def load_training(folder: Path) -> TrainingRun:
    """Read one model artefact.

    Args:
        folder: data folder with meta.json {"method", "seed", "trainer"} and metrics.jsonl.

    Raises:
        FileNotFoundError: one of them is missing: the artefact is not a trained model.
        ValueError: a line is not a JSON object with a step.
    """
    meta = json.loads((folder / "meta.json").read_bytes())
    curves: dict[str, list[tuple[float, float]]] = {}
    for place, line in enumerate((folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(line)
        if not isinstance(row, dict) or "step" not in row:
            raise ValueError(f"{folder / 'metrics.jsonl'}, line {place}: no object with a step")
        for name in (*CURVES, "unscored"):
            if _finite(row.get(name)):
                scale = 100.0 if name in SHARES else 1.0
                curves.setdefault(name, []).append((float(row["step"]), scale * float(row[name])))
    unscored = curves.pop("unscored", [])
    return TrainingRun(
        method=meta["method"],
        seed=meta["seed"],
        trainer=meta["trainer"],
        curves={name: tuple(pairs) for name, pairs in curves.items()},
        unscored_share=float(np.mean([value for _, value in unscored])) if unscored else None,
    )


def mean_curve(runs: Sequence[TrainingRun], name: str) -> tuple[tuple[float, float], ...]:
    """Mean over seeds at every step that all of them have."""
    by_step = [dict(run.curves[name]) for run in runs if name in run.curves]
    steps = sorted(set.intersection(*(set(found) for found in by_step))) if by_step else []
    return tuple((step, float(np.mean([found[step] for found in by_step]))) for step in steps)


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
