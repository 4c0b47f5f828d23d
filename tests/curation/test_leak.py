"""Leak keys, clusters and the check."""

from __future__ import annotations

from typing import Literal

import pytest

from tasks.core.records import Question
from tasks.curation.leak import LeakError, check_no_leak, clusters, group_of, normalise


def question(key: str, text: str, group: str, split: Literal["train", "test"] = "train") -> Question:
    return Question(id=key, dataset="crag", split=split, question=text, answers=("a",), group=group)


def test_normalise_ignores_case_punctuation_articles_and_width() -> None:
    assert normalise("Who is  the BEST?") == normalise("who is best") == normalise("\uff37ho is a best\u2026!")
    assert normalise("who is best") != normalise("who is worst")


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("When was Marie Curie born?", "marie curie"),
        ("Where did Ada Lovelace meet the Duke of Wellington in May?", "duke of wellington"),
        ("In What City is it?", "city"),
        ("who is the ceo of meta", "ceo meta"),
        ("the ceo of meta: who is it", "ceo meta"),
        ("who is it", "is it who"),
        ("\u4e1c\u4eac\u5728\u54ea\u91cc", "\u4e1c\u4eac\u5728\u54ea\u91cc"),
    ],
)
def test_group_heuristic(text: str, group: str) -> None:
    assert group_of({}, text) == group


def test_a_given_group_wins_and_an_empty_one_does_not() -> None:
    assert group_of({"group": " e1 "}, "When was Marie Curie born?") == "e1"
    assert group_of({"group": ""}, "When was Marie Curie born?") == "marie curie"


def test_clusters_connect_through_groups_and_through_texts() -> None:
    rows = [
        question("0", "what is a", "g1"),
        question("1", "what is b", "g2"),
        question("2", "What is the B?", "g3"),
        question("3", "what is c", "g3"),
        question("4", "what is d", "g4"),
    ]
    assert clusters(rows) == [[0], [1, 2, 3], [4]]


def test_check_no_leak_shows_the_pair() -> None:
    clean = [question("0", "what is a", "g1"), question("1", "what is b", "g2", "test")]
    check_no_leak(clean)
    with pytest.raises(LeakError, match=r"1 leak keys.*group g1.*'what is a'.*'what is c'"):
        check_no_leak([*clean, question("2", "what is c", "g1", "test")])
    with pytest.raises(LeakError, match="text what is"):
        check_no_leak([*clean, question("3", "What is A", "g9", "test"), question("4", "what is: a?", "g8")])
