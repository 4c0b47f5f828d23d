from __future__ import annotations

import pytest

from tasks.core.records import Outcome, Verdict
from tasks.training.guards import ConstantReward, ConstantRewardGuard, UnscoredGuard
from tasks.verify.grader import TooManyUnscored


def verdicts(unscored: int, scored: int) -> list[Verdict]:
    failed = Verdict(outcome=Outcome.UNSCORED, answer=None, via="judge", detail="timeout: stalled")
    return [failed] * unscored + [Verdict(outcome=Outcome.CORRECT, answer="a", via="exact")] * scored


def test_a_constant_reward_is_borne_for_so_many_steps() -> None:
    guard = ConstantRewardGuard(3)
    guard.observe([1.0, 1.0])
    guard.observe([1.0, 1.0])
    with pytest.raises(ConstantReward, match="last 3 steps got the reward 1,"):
        guard.observe([1.0, None])


def test_another_value_starts_the_count_again() -> None:
    guard = ConstantRewardGuard(3)
    for _ in range(4):
        guard.observe([1.0])
        guard.observe([1.0])
        guard.observe([0.0])


def test_differing_rewards_in_one_step_start_the_count_again() -> None:
    guard = ConstantRewardGuard(2)
    for _ in range(4):
        guard.observe([1.0, 1.0])
        guard.observe([1.0, 0.0])


def test_unscored_steps_say_nothing_about_the_reward() -> None:
    guard = ConstantRewardGuard(2)
    for _ in range(5):
        guard.observe([None, None])
    guard.observe([1.0])
    guard.observe([None])
    with pytest.raises(ConstantReward):
        guard.observe([1.0])


def test_unscored_share_counts_over_the_latest_verdicts() -> None:
    guard = UnscoredGuard(0.05, window=100)
    guard.observe(verdicts(9, 90))  # 9%, but the window is not full yet
    with pytest.raises(TooManyUnscored):
        guard.observe(verdicts(0, 1))


def test_what_is_out_of_the_window_is_forgotten() -> None:
    guard = UnscoredGuard(0.05, window=100)
    guard.observe(verdicts(5, 95))
    guard.observe(verdicts(0, 100))
    guard.observe(verdicts(5, 0))
    with pytest.raises(TooManyUnscored):
        guard.observe(verdicts(1, 0))


def test_a_short_run_is_judged_at_its_end() -> None:
    guard = UnscoredGuard(0.05, window=100)
    guard.observe(verdicts(5, 15))
    with pytest.raises(TooManyUnscored):
        guard.check()
