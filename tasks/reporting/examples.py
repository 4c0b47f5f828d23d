"""Example responses: the same few questions for every method, chosen by rule and not by eye.

Questions on which the methods' outcomes differ most come first (ties by a hash of the question's id), in turn over the
prompt settings, from each method's first seed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from configs.settings import PromptSetting
from tasks.core.hashing import digest
from tasks.core.records import GradedResponse, Outcome, Question, Record
from tasks.core.rows import read_rows

Key = tuple[PromptSetting, str]


class ExampleAnswer(Record):
    """What one method answered; text is the model's and not to be trusted."""

    method: str
    seed: int
    outcome: Outcome
    text: str
    answer: str | None
    via: str
    detail: str


class Example(Record):
    """One question with every method's answer."""

    question: Question
    setting: PromptSetting
    answers: tuple[ExampleAnswer, ...]


def choose_examples(
    folders: Sequence[Path], questions: Iterable[Question], methods: Sequence[str], number: int
) -> list[Example]:
    """Examples from each method's first evaluated seed.

    Args:
        folders: data folders of evaluation artefacts.
        questions: the questions.
        methods: methods in the order of the table.
        number: questions wanted.
    """
    if number == 0:
        return []
    first = _first_seeds(folders)
    present = [method for method in methods if method in first]
    outcomes: dict[Key, dict[str, Outcome]] = {}
    for method in present:
        for row in _rows(first[method][1]):
            outcomes.setdefault((row.response.setting, row.response.question_id), {})[method] = row.verdict.outcome
    chosen = _most_different(outcomes, len(present), number)
    by_id = {question.id: question for question in questions}
    answers: dict[Key, list[ExampleAnswer]] = {key: [] for key in chosen}
    for method in present:
        seed, folder = first[method]
        for row in _rows(folder):
            key = row.response.setting, row.response.question_id
            if key in answers:
                answers[key].append(_answer(method, seed, row))
    return [Example(question=by_id[key[1]], setting=key[0], answers=tuple(found)) for key, found in answers.items()]


def _answer(method: str, seed: int, row: GradedResponse) -> ExampleAnswer:
    verdict = row.verdict
    return ExampleAnswer(
        method=method,
        seed=seed,
        outcome=verdict.outcome,
        text=row.response.text,
        answer=verdict.answer,
        via=verdict.via,
        detail=verdict.detail,
    )


def _first_seeds(folders: Sequence[Path]) -> dict[str, tuple[int, Path]]:
    found: dict[str, tuple[int, Path]] = {}
    for folder in folders:
        meta = json.loads((folder / "meta.json").read_bytes())
        if meta["method"] not in found or meta["seed"] < found[meta["method"]][0]:
            found[meta["method"]] = meta["seed"], folder
    return found


def _rows(folder: Path) -> Iterator[GradedResponse]:
    return read_rows(folder / "responses.parquet", GradedResponse)


def _different(outcomes: Mapping[str, Outcome]) -> int:
    """Number of different outcomes; UNSCORED says nothing about a method."""
    return len(set(outcomes.values()) - {Outcome.UNSCORED})


def _most_different(outcomes: Mapping[Key, Mapping[str, Outcome]], methods: int, number: int) -> list[Key]:
    complete = [key for key, found in outcomes.items() if len(found) == methods]
    ranked: dict[PromptSetting, list[Key]] = {}
    for key in sorted(complete, key=lambda key: (-_different(outcomes[key]), digest(key[1]))):
        ranked.setdefault(key[0], []).append(key)
    turns = [ranked[setting] for setting in sorted(ranked)]
    chosen: list[Key] = []
    used: set[str] = set()
    for place in range(max((len(turn) for turn in turns), default=0)):
        for turn in turns:
            if place < len(turn) and turn[place][1] not in used and len(chosen) < number:
                chosen.append(turn[place])
                used.add(turn[place][1])
    return chosen
