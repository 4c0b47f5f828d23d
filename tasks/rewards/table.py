"""Table rewards: each outcome has its worth (TruthRL section 3.2).

    r(x, y) = correct | abstained | incorrect, by the verdict on y

With (1, -1, -1) it is the paper's binary reward, with (1, 0, -1) its ternary one. UNSCORED has no row in the
table: it gives None, which masks the sample.
"""

from __future__ import annotations

from collections.abc import Sequence

from configs.settings import RewardSettings
from tasks.core.records import Outcome
from tasks.rewards.scored import Scored
from tasks.verify.grader import GradeItem, Grader


class TableReward:
    """A reward by table over the one grader's verdicts."""

    def __init__(self, settings: RewardSettings, grader: Grader) -> None:
        self._grader = grader
        self._worth: dict[Outcome, float | None] = {
            Outcome.CORRECT: settings.correct,
            Outcome.ABSTAINED: settings.abstained,
            Outcome.INCORRECT: settings.incorrect,
            Outcome.UNSCORED: None,
        }

    def __call__(self, items: Sequence[GradeItem]) -> list[Scored]:
        """One value an item, in order.

        Raises:
            CallsStopped: the judge cannot answer any call (key, model, account or budget).
        """
        return [Scored(self._worth[verdict.outcome], verdict) for verdict in self._grader.grade(items)]
