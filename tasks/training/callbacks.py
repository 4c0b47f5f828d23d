"""The run's own record of a training: one metrics row a step, and the progress that a person sees."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from tasks.core.progress import Progress
from tasks.core.rows import Journal
from tasks.training.checkpoints import StepRow

TRAINER_NAMES = {
    "loss": "loss",
    "learning_rate": "learning_rate",
    "grad_norm": "grad_norm",
    "mean_token_accuracy": "token_accuracy",
    "reward": "reward",
    "reward_std": "reward_std",
    "frac_reward_zero_std": "constant_group_share",
    "kl": "kl",
    "entropy": "entropy",
    "completions/mean_length": "completion_length",
    "completions/clipped_ratio": "clipped_share",
    "correct": "correct",
    "abstained": "abstained",
    "incorrect": "incorrect",
    "unscored": "unscored",
}
"""The trainer's names of what is kept, and ours. Times are not kept: equal runs make equal files."""
SHOWN = ("loss", "reward", "abstained", "completion_length")


class StepMetrics(StepRow):
    """What one optimiser step measured; None where the method has no such figure."""

    loss: float
    learning_rate: float | None = None
    grad_norm: float | None = None
    """Before clipping."""
    token_accuracy: float | None = None
    """Share of target tokens that were the likeliest (SFT)."""
    reward: float | None = None
    """Mean over scored completions."""
    reward_std: float | None = None
    constant_group_share: float | None = None
    """Share of groups whose rewards are all alike: they teach nothing."""
    kl: float | None = None
    """KL divergence from the base model, nats a token."""
    entropy: float | None = None
    """Nats a token."""
    completion_length: float | None = None
    """Tokens, mean."""
    clipped_share: float | None = None
    """Share of completions cut at the token limit."""
    correct: float | None = None
    """Share of completions; the four outcomes sum to 1."""
    abstained: float | None = None
    incorrect: float | None = None
    unscored: float | None = None


class MetricsCallback(TrainerCallback):  # type: ignore[misc]
    """Journals each step's metrics and shows the latest."""

    def __init__(self, journal: Journal[StepMetrics], progress: Progress) -> None:
        self._journal = journal
        self._progress = progress

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:  # noqa: ARG002
        """The trainer logs once a step, and once more at the end, without a loss."""
        if "loss" not in logs or not state.is_world_process_zero:
            return
        row = step_metrics(state.global_step, logs)
        self._journal.append([row])
        shown = {name: value for name in SHOWN if (value := getattr(row, name)) is not None}
        self._progress.update(done=row.step, metrics=shown)


def step_metrics(step: int, logs: dict[str, Any]) -> StepMetrics:
    """The row of a step from what the trainer logged."""
    known = {ours: float(logs[name]) for name, ours in TRAINER_NAMES.items() if logs.get(name) is not None}
    return StepMetrics(step=step, **known)
