"""Completions of the policy in training, their verdicts and rewards, all of them kept.

The rows show afterwards which reward came from which verdict: that no failed judge call was a penalty can be
looked up. An UNSCORED completion has no reward; TRL leaves it out of its group's baseline and gives it the
advantage 0.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from configs.settings import PromptSetting
from tasks.core.records import Outcome, Verdict
from tasks.core.rows import Journal
from tasks.training.checkpoints import StepRow
from tasks.training.guards import ConstantRewardGuard, UnscoredGuard
from tasks.verify.asking import Asked
from tasks.verify.grader import GradeItem


class Rollout(StepRow):
    """One completion in training, with the step that it was used in."""

    question_id: str
    setting: PromptSetting
    text: str
    finished: bool
    tokens: int
    reward: float | None
    """None if UNSCORED."""
    verdict: Verdict


class Scored(Protocol):
    """What a reward returns for a completion."""

    @property
    def value(self) -> float | None: ...

    @property
    def verdict(self) -> Verdict: ...


Reward = Callable[[Sequence[GradeItem]], Sequence[Scored]]
"""Scores a step's completions together, so that all judge calls are in flight at once."""


class RolloutReward:
    """TRL's reward function around a reward of ours."""

    def __init__(
        self, reward: Reward, asked: Sequence[Asked], tokenizer: Any, journal: Journal[Rollout], guards: RolloutGuards
    ) -> None:
        self._reward = reward
        self._asked = asked
        self._tokenizer = tokenizer
        self._journal = journal
        self._guards = guards
        self._end_ids = {tokenizer.eos_token_id}

    def ends_with(self, token_ids: Sequence[int]) -> None:
        """Tokens that end a completion: the trainer knows them once it has loaded the model."""
        self._end_ids = set(token_ids)

    def reward(
        self,
        completion_ids: list[list[int]],
        row: list[int],
        trainer_state: Any,
        log_metric: Callable[[str, float], None],
        **_: Any,
    ) -> list[float | None]:
        """Rewards of one step's completions; None masks.

        Args:
            completion_ids: generated tokens, the end token included.
            row: index of each completion's prompt.

        Raises:
            TooManyUnscored, ConstantReward: see :mod:`tasks.training.guards`.
        """
        texts = self._tokenizer.batch_decode(completion_ids, skip_special_tokens=True)
        asked = [self._asked[index] for index in row]
        finished = [bool(ids) and ids[-1] in self._end_ids for ids in completion_ids]
        scored = self._reward(
            [
                GradeItem(question=prompt.question, text=text, finished=ended)
                for prompt, text, ended in zip(asked, texts, finished, strict=True)
            ]
        )
        rollouts = [
            Rollout(
                step=trainer_state.global_step + 1,
                question_id=prompt.question.id,
                setting=prompt.setting,
                text=text,
                finished=ended,
                tokens=len(ids),
                reward=score.value,
                verdict=score.verdict,
            )
            for prompt, text, ended, ids, score in zip(asked, texts, finished, completion_ids, scored, strict=True)
        ]
        self._journal.append(rollouts)
        outcomes = Counter(rollout.verdict.outcome for rollout in rollouts)
        for outcome in Outcome:
            log_metric(outcome.value, outcomes[outcome] / len(rollouts))
        self._guards.observe(rollouts)
        return [rollout.reward for rollout in rollouts]


class RolloutGuards:
    """Both guards, fed step by step."""

    def __init__(self, constant_reward_steps: int, unscored_limit: float) -> None:
        self._constant = ConstantRewardGuard(constant_reward_steps)
        self._unscored = UnscoredGuard(unscored_limit)

    def replay(self, journal: Journal[Rollout]) -> None:
        """Take in what was seen before the checkpoint."""
        for _, rows in groupby(_rows(journal), key=lambda row: row.step):
            self.observe(list(rows))

    def observe(self, rollouts: Sequence[Rollout]) -> None:
        """Take in a step."""
        self._unscored.observe(rollout.verdict for rollout in rollouts)
        self._constant.observe([rollout.reward for rollout in rollouts])

    def finish(self) -> None:
        """Take stock of a run that was shorter than the window."""
        self._unscored.check()


class RolloutTally:
    """Counts rollouts as they pass."""

    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.reasons: Counter[str] = Counter()
        """Of the UNSCORED: what stands before the colon of the verdict's detail."""

    def through(self, rollouts: Iterable[Rollout]) -> Iterator[Rollout]:
        """The same rollouts, counted."""
        for rollout in rollouts:
            outcome = rollout.verdict.outcome
            self.outcomes[outcome] += 1
            if outcome is Outcome.UNSCORED:
                self.reasons[rollout.verdict.detail.split(":")[0]] += 1
            yield rollout

    def counts(self) -> dict[str, int]:
        """Every outcome has its entry."""
        return {outcome.value: self.outcomes[outcome] for outcome in Outcome}


def journal_path(work: Path, rank: int) -> Path:
    """Each rank keeps its own."""
    return work / f"rollouts.{rank}.jsonl"


def all_rollouts(work: Path, processes: int) -> Iterator[Rollout]:
    """Every rank's rollouts in the order of steps."""
    journals = [Journal(journal_path(work, rank), Rollout) for rank in range(processes)]
    yield from heapq.merge(*(_rows(journal) for journal in journals), key=lambda row: row.step)
    for journal in journals:
        journal.close()


def _rows(journal: Journal[Rollout]) -> Iterator[Rollout]:
    return (row for _, row in journal.entries())
