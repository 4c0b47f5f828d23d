"""Grids with known outcomes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from configs.settings import PromptSetting
from tasks.core.records import Question
from tasks.evaluation.outcomes import Grid

LETTERS = {"c": 0, "a": 1, "i": 2, "u": 3, ".": -1}
GridOf = Callable[..., Grid]


def make_question(name: str, dataset: str = "crag", popularity: str | None = None) -> Question:
    return Question(
        id=name, dataset=dataset, split="test", question=f"{name}?", answers=("x",), group=name, popularity=popularity
    )


@pytest.fixture
def grid_of() -> GridOf:
    """grid_of({("m", 0): "cai.u"}) with a string a seed, a letter a question; "/" parts prompt settings."""

    def build(outcomes: dict[tuple[str, int], str], datasets: str = "", popularity: str = "") -> Grid:
        codes = {
            key: np.array([[LETTERS[letter] for letter in row] for row in text.split("/")], dtype=np.int8)
            for key, text in outcomes.items()
        }
        settings, size = next(iter(codes.values())).shape
        sets = {"1": "crag", "2": "nq_open"}
        names = {"h": "head", "n": "never", ".": None, "": None}
        questions = tuple(
            make_question(f"q{i}", sets[(datasets or "1" * size)[i]], names[(popularity or "." * size)[i]])
            for i in range(size)
        )
        both: tuple[PromptSetting, ...] = ("closed_book", "retrieval")
        return Grid(questions, both[:settings], codes)

    return build
