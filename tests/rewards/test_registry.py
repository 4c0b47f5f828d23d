from __future__ import annotations

import pytest

from configs.settings import RewardSettings
from tasks.rewards import build_reward
from tasks.rewards.table import TableReward
from tasks.verify.grader import Grader

TERNARY = RewardSettings(correct=1, abstained=0, incorrect=-1)


def test_a_kind_by_name(grader: Grader) -> None:
    assert isinstance(build_reward("table", TERNARY, grader), TableReward)


def test_an_unknown_kind_names_those_there_are(grader: Grader) -> None:
    with pytest.raises(KeyError, match=r"no kind of reward 'tabel'; there are: table"):
        build_reward("tabel", TERNARY, grader)
