"""Outcomes of every method, seed, prompt setting and question, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel

from configs.settings import PromptSetting
from tasks.core.records import GradedResponse, Question
from tasks.core.rows import read_rows
from tasks.evaluation.metrics import MISSING, OUTCOMES, Codes

CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}


class EvaluationMeta(BaseModel):
    """meta.json beside the responses: whose they are."""

    method: str
    seed: int


@dataclass(frozen=True)
class Grid:
    """codes[method, seed] is a codes_SQ over settings and questions; see metrics.OUTCOMES for the codes."""

    questions: tuple[Question, ...]
    settings: tuple[PromptSetting, ...]
    codes: dict[tuple[str, int], Codes]

    @property
    def datasets(self) -> tuple[str, ...]:
        """Sets in order of first appearance."""
        return tuple(dict.fromkeys(question.dataset for question in self.questions))

    def seeds(self, method: str) -> tuple[int, ...]:
        """Training seeds of a method, ascending."""
        return tuple(sorted(seed for name, seed in self.codes if name == method))

    def members(self, dataset: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Indices of a set's questions."""
        return np.flatnonzero([question.dataset == dataset for question in self.questions])

    def rows(self, method: str, settings: Sequence[PromptSetting], seeds: Sequence[int] | None = None) -> Codes:
        """codes_RQ of a method: a row for each seed and setting, seeds outermost.

        A method with one seed only (an untrained base) stands for itself under every seed asked for.
        """
        own = self.seeds(method)
        places = [self.settings.index(setting) for setting in settings]
        wanted = own if seeds is None else seeds
        return np.concatenate([self.codes[method, own[0] if len(own) == 1 else seed][places] for seed in wanted])

    def common_seeds(self, first: str, second: str) -> tuple[int, ...]:
        """Seeds in which two methods can be paired.

        Raises:
            ValueError: there are none.
        """
        a, b = self.seeds(first), self.seeds(second)
        if len(b) == 1:
            return a
        if len(a) == 1:
            return b
        common = tuple(seed for seed in a if seed in b)
        if not common:
            raise ValueError(f"{first} (seeds {a}) and {second} (seeds {b}) share no seed: evaluate both with one seed")
        return common


def load_grid(
    folders: Sequence[Path],
    questions: Sequence[Question],
    methods: Sequence[str],
    settings: Sequence[PromptSetting],
) -> Grid:
    """Read every evaluation.

    Args:
        folders: data folders of evaluation artefacts, each with responses.parquet and meta.json.
        questions: at least the questions that were asked.
        methods: methods that must be there.
        settings: prompt settings in the order of the tables.

    Raises:
        ValueError: a method is missing or unknown, a question is unknown, or a response stands twice.
    """
    place = {question.id: index for index, question in enumerate(questions)}
    codes: dict[tuple[str, int], Codes] = {}
    for folder in folders:
        meta = EvaluationMeta.model_validate_json((folder / "meta.json").read_bytes())
        if meta.method not in methods:
            raise ValueError(f"{folder} is an evaluation of {meta.method!r}, which is not among {list(methods)}")
        if (meta.method, meta.seed) in codes:
            raise ValueError(f"two evaluations of {meta.method} seed {meta.seed}: hand in each once")
        codes[meta.method, meta.seed] = _read(folder / "responses.parquet", place, settings)
    missing = [method for method in methods if not any(name == method for name, _ in codes)]
    if missing:
        raise ValueError(f"no evaluation of {missing}: run the evaluate stage for them")
    asked = np.any([np.any(found != MISSING, axis=0) for found in codes.values()], axis=0)
    kept = np.flatnonzero(asked)
    return Grid(
        questions=tuple(questions[int(index)] for index in kept),
        settings=tuple(settings),
        codes={key: found[:, kept] for key, found in codes.items()},
    )


def _read(path: Path, place: dict[str, int], settings: Sequence[PromptSetting]) -> Codes:
    codes_SQ = np.full((len(settings), len(place)), MISSING, dtype=np.int8)
    for row in read_rows(path, GradedResponse):
        response = row.response
        if response.question_id not in place:
            raise ValueError(f"{path}: question {response.question_id!r} is not among the questions")
        if response.setting not in settings:
            raise ValueError(f"{path}: prompt setting {response.setting!r} is not among {list(settings)}")
        at = settings.index(response.setting), place[response.question_id]
        if codes_SQ[at] != MISSING:
            raise ValueError(f"{path}: question {response.question_id!r} stands twice in {response.setting}")
        codes_SQ[at] = CODE[row.verdict.outcome]
    return codes_SQ
