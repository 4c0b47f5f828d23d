"""Probing: rounds, labels, and the case that a failed judge leaves open."""

from __future__ import annotations

import pytest

from tasks.core.records import Outcome
from tasks.probing.probe import label_of, rounds

C, X, A, U = Outcome.CORRECT, Outcome.INCORRECT, Outcome.ABSTAINED, Outcome.UNSCORED


@pytest.mark.parametrize(
    ("first", "samples", "expected"),
    [
        (8, 64, [(0, 8), (8, 8), (16, 16), (32, 32)]),
        (8, 256, [(0, 8), (8, 8), (16, 16), (32, 32), (64, 64), (128, 128)]),
        (8, 20, [(0, 8), (8, 8), (16, 4)]),
        (8, 5, [(0, 5)]),
    ],
)
def test_rounds_double_and_sum_to_the_samples(first: int, samples: int, expected: list[tuple[int, int]]) -> None:
    assert rounds(first, samples) == expected
    assert sum(size for _, size in expected) == samples


@pytest.mark.parametrize(
    ("outcomes", "out_of_knowledge"),
    [([X, X, A], True), ([A, A], True), ([X, C, X], False), ([C], False), ([U, C], False)],
)
def test_out_of_knowledge_is_no_sample_right(outcomes: list[Outcome], out_of_knowledge: bool) -> None:
    label = label_of(("q", "closed_book"), outcomes)
    assert label is not None
    assert label.out_of_knowledge is out_of_knowledge
    assert label.drawn == len(outcomes)
    assert label.incorrect == outcomes.count(X)


def test_a_failed_judge_never_makes_a_question_unknown() -> None:
    assert label_of(("q", "closed_book"), [X, X, U]) is None
