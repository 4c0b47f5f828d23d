"""Sides of a split: which questions train, which test, such that nothing leaks.

Where the training set itself tells the two sides, they are kept; otherwise its clusters of connected questions
(tasks.curation.leak) are dealt by DataSettings.train_share. Then every test question of any set that shares a
leak key with training is dropped, and seeded samples bring both sides down to their limits.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from configs.settings import DataSettings
from tasks.core.hashing import digest
from tasks.core.records import Question
from tasks.curation.candidates import Side
from tasks.curation.leak import clusters, leak_keys


@dataclass(frozen=True)
class Sided:
    """A question and the side that its set puts it on, if it does."""

    question: Question
    side: Side | None


def deal(sets: Mapping[str, Sequence[Sided]], data: DataSettings) -> tuple[list[Question], Counter[str]]:
    """Questions of all sets with their split, in the order of the sets' rows, and counts dropped by reason.

    Args:
        sets: rows of each set; the training set and every evaluation set are there.
    """
    dropped: Counter[str] = Counter()
    sided = {name: _sides(rows, data) if name == data.train_set else list(rows) for name, rows in sets.items()}
    train = [row.question for row in sided[data.train_set] if row.side == "train"]
    train = _limit(train, data.max_train_questions, data.split_seed, f"{data.train_set}/train", dropped)
    taken = {key for question in train for key in leak_keys(question)}
    kept = [question.model_copy(update={"split": "train"}) for question in train]
    for name, rows in sided.items():
        test = _tests(name, rows, data, dropped)
        clean = [question for question in test if taken.isdisjoint(leak_keys(question))]
        dropped[f"{name}/in_training_set"] += len(test) - len(clean)
        kept += _limit(clean, data.max_eval_questions, data.split_seed, f"{name}/test", dropped)
    return kept, +dropped


def _sides(rows: Sequence[Sided], data: DataSettings) -> list[Sided]:
    """The training set's rows, each with a side."""
    if len({row.side for row in rows if row.side is not None}) > 1:
        return list(rows)
    groups = clusters([row.question for row in rows])
    random.Random(f"{data.split_seed}/split").shuffle(groups)
    train_groups = round(data.train_share * len(groups))
    train = {index for group in groups[:train_groups] for index in group}
    return [Sided(row.question, "train" if index in train else "test") for index, row in enumerate(rows)]


def _tests(name: str, rows: Sequence[Sided], data: DataSettings, dropped: Counter[str]) -> list[Question]:
    """A set's test side; rows of sets that are only evaluated test unless the set calls them training rows."""
    if name not in data.eval_sets:
        dropped[f"{name}/side_not_used"] += sum(row.side != "train" for row in rows)
        return []
    if name == data.train_set:
        dropped[f"{name}/no_side"] += sum(row.side is None for row in rows)
        return [row.question for row in rows if row.side == "test"]
    dropped[f"{name}/side_not_used"] += sum(row.side == "train" for row in rows)
    return [row.question for row in rows if row.side != "train"]


def _limit(questions: list[Question], limit: int | None, seed: int, what: str, dropped: Counter[str]) -> list[Question]:
    """A seeded sample, in the order of the rows. Smaller limits give subsets of larger ones."""
    if limit is None or len(questions) <= limit:
        return questions
    ranked = sorted(questions, key=lambda question: digest([seed, question.id]))
    chosen = {question.id for question in ranked[:limit]}
    dropped[f"{what}_not_sampled"] += len(questions) - limit
    return [question for question in questions if question.id in chosen]
