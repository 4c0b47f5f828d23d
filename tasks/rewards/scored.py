"""What a reward is: a function from graded responses to values, None where the instrument failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tasks.core.records import Outcome, Verdict
from tasks.verify.grader import GradeItem


@dataclass(frozen=True)
class Scored:
    """A reward and the verdict that it came from."""

    value: float | None
    """None means UNSCORED: the trainer masks the sample; it is neither a reward nor a penalty."""
    verdict: Verdict


class Reward(Protocol):
    """Scores the whole batch of a step in one call, so that its judge calls are in flight together."""

    def __call__(self, items: Sequence[GradeItem]) -> list[Scored]:
        """One value an item, in order."""


def batch_summary(scored: Iterable[Scored]) -> dict[str, float]:
    """A batch as figures for a curve: the share of each outcome and, where any was scored, the mean reward.

    Shares are of all items, in 0..1; an empty batch gives no figures.
    """
    rows = list(scored)
    if not rows:
        return {}
    counts = Counter(row.verdict.outcome for row in rows)
    summary = {f"share_{outcome.value}": counts[outcome] / len(rows) for outcome in Outcome}
    values = [row.value for row in rows if row.value is not None]
    return summary | ({"reward_mean": sum(values) / len(values)} if values else {})
