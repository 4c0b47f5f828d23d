"""What stops a reinforcement-learning run that has gone wrong without noticing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from tasks.core.records import Verdict
from tasks.verify.grader import check_unscored

WINDOW_VERDICTS = 1_000
"""Verdicts over which the share of UNSCORED is taken: enough that chance does not decide at a limit of 5%."""


class ConstantReward(RuntimeError):
    """The reward was the same for every completion of many steps: nothing is learned from it."""


class ConstantRewardGuard:
    """Raises when all scored completions of `steps` consecutive steps got one and the same reward."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._value: float | None = None
        self._seen = 0

    def observe(self, rewards: Sequence[float | None]) -> None:
        """Take in one step's rewards; None (UNSCORED) says nothing.

        Raises:
            ConstantReward: with the steps and the value.
        """
        values = {reward for reward in rewards if reward is not None}
        if not values:
            return
        if len(values) > 1:
            self._seen = 0
            return
        (value,) = values
        self._seen = self._seen + 1 if value == self._value and self._seen else 1
        self._value = value
        if self._seen >= self._steps:
            raise ConstantReward(
                f"every completion of the last {self._seen} steps got the reward {value:g}, so nothing is learned. "
                "Look at rollouts in the job's folder: either the reward or judge always says the same (wrong "
                "prompt, wrong answers), or the policy answers always alike (collapsed: lower the rate). "
                "train.grpo.constant_reward_steps sets how long this is borne"
            )


class UnscoredGuard:
    """Raises when the share of UNSCORED among the latest verdicts passes the run's limit."""

    def __init__(self, limit: float, window: int = WINDOW_VERDICTS) -> None:
        self._limit = limit
        self._latest: deque[Verdict] = deque(maxlen=window)

    def observe(self, verdicts: Iterable[Verdict]) -> None:
        """Take in verdicts; they count once the window is full.

        Raises:
            TooManyUnscored: the instrument fails too often.
        """
        self._latest.extend(verdicts)
        if len(self._latest) == self._latest.maxlen:
            self.check()

    def check(self) -> None:
        """Judge what there is, as at the end of a run shorter than the window."""
        check_unscored(self._latest, self._limit)
