"""What a set's reader makes of one row: a candidate with its pages, or a reason to drop it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tasks.core.records import Question, StoredPage

Side = Literal["train", "test"]
Row = Mapping[str, Any]

MAX_QUESTION_CHARACTERS = 2_000
"""Longer "questions" are pasted documents; no set's longest real question comes near it."""


@dataclass(frozen=True)
class Candidate:
    """A well-formed row. `question.split` holds only once the sides are dealt (tasks.curation.split)."""

    question: Question
    side: Side | None = None
    """The side that the set itself puts the row on; None where it does not tell."""
    pages: tuple[StoredPage, ...] = ()
    bad_pages: int = 0
    """Entries of the search result that are no page."""


@dataclass(frozen=True)
class Dropped:
    """A row that is left out, and why."""

    reason: str


ReadRow = Callable[[Row], Candidate | Dropped]


class MissingColumn(ValueError):
    """The source does not have the columns that data/sources.toml names."""


def check_columns(row: Row, columns: Sequence[str], dataset: str, place: str) -> None:
    """Compare a source's first row with the columns that the set must have.

    Raises:
        MissingColumn: names the set, the place, what is missing and what is there.
    """
    missing = [name for name in columns if name not in row]
    if missing:
        raise MissingColumn(
            f"{dataset}: {place} has no column {', '.join(map(repr, missing))}; it has {', '.join(map(repr, row))}. "
            "Is it this set's file, in the shape that data/sources.toml tells?"
        )


def text_of(value: Any) -> str:
    """A cell as stripped text, "" for anything that is no string.

    Lone surrogates, which JSON escapes can smuggle in and UTF-8 cannot hold, become question marks.
    """
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode("utf-8").strip()


def texts_of(value: Any) -> tuple[str, ...]:
    """The non-empty strings of a list cell, or of a lone string, without repeats."""
    items = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
    return tuple(dict.fromkeys(filter(None, map(text_of, items))))


def why_unusable(question: str, answers: Sequence[str]) -> Dropped | None:
    """The reasons that hold for every set."""
    if not question:
        return Dropped("empty_question")
    if len(question) > MAX_QUESTION_CHARACTERS:
        return Dropped("question_too_long")
    if not answers:
        return Dropped("no_answer")
    return None
