"""Figures that a paper published, kept apart from this run's: they are shown beside, never mixed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from configs.settings import PromptSetting
from tasks.core.records import Record

FOLDER = Path(__file__).parent


class PublishedRow(Record):
    """A method's row."""

    label: str
    """The method as the paper calls it."""
    figures: dict[str, tuple[float, float, float]]
    """Truthfulness, hallucination, accuracy by set, per cent; "average" is the paper's own average."""


class PublishedTable(Record):
    """One policy in one prompt setting."""

    policy: str
    setting: PromptSetting
    rows: tuple[PublishedRow, ...]


class Published(Record):
    """All figures taken from one paper."""

    source: str
    columns: tuple[Literal["truthfulness"], Literal["hallucination"], Literal["accuracy"]]
    unit: Literal["per cent"]
    tables: tuple[PublishedTable, ...]


def load_published(recipe: str) -> Published | None:
    """The figures of a recipe's paper; None where none are kept.

    Raises:
        pydantic.ValidationError: the file does not hold what it should.
    """
    path = FOLDER / f"published_{recipe}.json"
    return Published.model_validate_json(path.read_bytes()) if path.exists() else None
