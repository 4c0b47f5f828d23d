"""Kinds of reward by name. A new one is a module of this room and a line in REWARDS."""

from __future__ import annotations

from collections.abc import Callable

from configs.settings import RewardSettings
from tasks.rewards.scored import Reward
from tasks.rewards.table import TableReward
from tasks.verify.grader import Grader

REWARDS: dict[str, Callable[[RewardSettings, Grader], Reward]] = {
    "table": TableReward,
}


def build_reward(name: str, settings: RewardSettings, grader: Grader) -> Reward:
    """The reward of kind `name`.

    Raises:
        KeyError: no such kind; the message lists those there are.
    """
    if name not in REWARDS:
        raise KeyError(f"no kind of reward {name!r}; there are: {', '.join(sorted(REWARDS))}")
    return REWARDS[name](settings, grader)
