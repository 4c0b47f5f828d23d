"""Leak keys: what must never stand on both sides of a split.

Two rows leak into each other when they share a group or when their questions are the same after
normalisation (case, punctuation, articles, white space). A row's group is its ``group`` column where the set
gives one (the closed world does). Otherwise it is a heuristic: the longest run of two or more capitalised words
("Marie Curie"), which names the entity in sets with natural case; where there is none (NQ-open and most of CRAG are
lower case), the sorted content words, so that rewordings with the same content fall together. Different
questions on one lower-case entity stay apart: no claim is made that they do not.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tasks.core.records import Question

SHOWN_EXAMPLES = 5
ARTICLES = frozenset(("a", "an", "the"))
FUNCTION_WORDS = ARTICLES | frozenset(
    "and are as at be been by can could did do does for from had has have how in into is it its many much of on "
    "or that their there these they this those to was were what when where which who whom whose why will with "
    "would".split()
)
NAME_RUN = re.compile(r"\b[A-Z][\w'\u2019.-]*(?:\s+(?:of|the|de|da|van|von|and)?\s*[A-Z0-9][\w'\u2019.-]*)+")
QUESTION_OPENERS = frozenset(
    "Are At Can Did Do Does For From Had Has Have How If In Is Of On The To Was Were What When Where Which Who Whom "
    "Whose Why Will With".split()
)


class LeakError(RuntimeError):
    """The same group or question stands on both sides; the message shows examples."""


def normalise(question: str) -> str:
    """A question reduced to what makes it the same question: words in order, no case, punctuation or articles."""
    plain = unicodedata.normalize("NFKC", question).casefold()
    return " ".join(word for word in re.findall(r"\w+", plain) if word not in ARTICLES)


def group_of(row: Mapping[str, Any], question: str) -> str:
    """Leak key of a row: its own ``group`` column, else the heuristic of this module."""
    given = row.get("group")
    if isinstance(given, str) and given.strip():
        return given.strip()
    return _longest_name(question) or _content_words(question)


def check_no_leak(questions: Iterable[Question]) -> None:
    """Check that no group and no normalised question stands on both sides, over all sets together.

    Raises:
        LeakError: some do; the message shows up to SHOWN_EXAMPLES of them.
    """
    sides: dict[str, dict[str, Question]] = defaultdict(dict)
    for question in questions:
        for key in leak_keys(question):
            sides[key].setdefault(question.split, question)
    leaks = [(key, found) for key, found in sides.items() if len(found) > 1]
    if leaks:
        shown = "; ".join(
            f"{key!r}: train {found['train'].question!r}, test {found['test'].question!r}"
            for key, found in leaks[:SHOWN_EXAMPLES]
        )
        raise LeakError(f"{len(leaks)} leak keys stand on both sides of the split, as {shown}")


def leak_keys(question: Question) -> tuple[str, str]:
    """The keys by which a question leaks: its group and its normalised text."""
    return f"group {question.group}", f"text {normalise(question.question)}"


def clusters(questions: Sequence[Question]) -> list[list[int]]:
    """Indices of questions that must stay together: connected through shared leak keys, in order of first row."""
    parent = list(range(len(questions)))
    holder: dict[str, int] = {}
    for index, question in enumerate(questions):
        for key in leak_keys(question):
            first = holder.setdefault(key, index)
            low, high = sorted((_root(parent, index), _root(parent, first)))
            parent[high] = low
    members: dict[int, list[int]] = defaultdict(list)
    for index in range(len(questions)):
        members[_root(parent, index)].append(index)
    return list(members.values())


def _root(parent: list[int], index: int) -> int:
    while parent[index] != index:
        parent[index] = parent[parent[index]]
        index = parent[index]
    return index


def _longest_name(question: str) -> str:
    names = []
    for match in NAME_RUN.finditer(question):
        words = match.group().split()
        while words and words[0] in QUESTION_OPENERS:
            words = words[1:]
        if len(words) > 1:
            names.append(normalise(" ".join(words)))
    return max(names, key=len, default="")


def _content_words(question: str) -> str:
    words = normalise(question).split()
    return " ".join(sorted({word for word in words if word not in FUNCTION_WORDS} or set(words)))
