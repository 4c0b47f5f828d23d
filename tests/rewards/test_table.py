from __future__ import annotations

import pytest

from configs.settings import RewardSettings
from tasks.core.records import Outcome, Question
from tasks.rewards.table import TableReward
from tasks.verify.grader import GradeItem, Grader

BINARY = RewardSettings(correct=1, abstained=-1, incorrect=-1)
TERNARY = RewardSettings(correct=1, abstained=0, incorrect=-1)


def item(text: str, false_premise: bool = False, finished: bool = True) -> GradeItem:
    question = Question(
        id="q",
        dataset="crag",
        split="train",
        question="Which city?",
        answers=("invalid question",) if false_premise else ("Paris",),
        group="g",
        false_premise=false_premise,
    )
    return GradeItem(question=question, text=text, finished=finished)


ITEMS = [
    item(r"\boxed{Paris}"),
    item(r"\boxed{I don't know}"),
    item(r"\boxed{invalid question}"),
    item(r"\boxed{invalid question}", false_premise=True),
    item(r"\boxed{I don't know}", false_premise=True),
    item(r"\boxed{Paris}", false_premise=True),
    item("no box"),
    item(r"\boxed{I don't know}", finished=False),
    item(r"\boxed{Rome}"),  # the judge is down
]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (BINARY, [1, -1, -1, 1, -1, -1, -1, -1, None]),
        (TERNARY, [1, 0, -1, 1, 0, -1, -1, -1, None]),
        (RewardSettings(correct=2, abstained=0.5, incorrect=0), [2, 0.5, 0, 2, 0.5, 0, 0, 0, None]),
    ],
)
def test_by_hand(grader: Grader, settings: RewardSettings, expected: list[float | None]) -> None:
    scored = TableReward(settings, grader)(ITEMS)
    assert [row.value for row in scored] == expected


def test_papers_code_an_outage_is_no_penalty(grader: Grader) -> None:
    (scored,) = TableReward(BINARY, grader)([item(r"\boxed{Rome}")])
    assert scored.value is None
    assert scored.verdict.outcome is Outcome.UNSCORED
    assert scored.verdict.detail.startswith("connection:")


def test_an_empty_batch_is_no_work(grader: Grader) -> None:
    assert TableReward(TERNARY, grader)([]) == []
