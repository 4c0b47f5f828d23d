from __future__ import annotations

import pytest

from tasks.core.records import Outcome, Verdict
from tasks.rewards import Scored, batch_summary


def scored(value: float | None, outcome: Outcome) -> Scored:
    return Scored(value, Verdict(outcome=outcome, answer="x", via="judge"))


def test_summary_by_hand() -> None:
    rows = [scored(1, Outcome.CORRECT)] * 4 + [scored(0, Outcome.ABSTAINED)] * 2 + [scored(-1, Outcome.INCORRECT)]
    summary = batch_summary([*rows, scored(None, Outcome.UNSCORED)])
    assert summary == pytest.approx(
        {
            "share_correct": 0.5,
            "share_abstained": 0.25,
            "share_incorrect": 0.125,
            "share_unscored": 0.125,
            "reward_mean": 3 / 7,  # the unscored one is in no mean
        }
    )


def test_without_a_scored_row_there_is_no_mean() -> None:
    assert batch_summary([scored(None, Outcome.UNSCORED)]) == {
        "share_correct": 0,
        "share_abstained": 0,
        "share_incorrect": 0,
        "share_unscored": 1,
    }
    assert batch_summary([]) == {}
