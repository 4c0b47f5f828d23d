"""Where a killed run goes on: its last whole checkpoint, and its journals cut back to that step."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TypeVar

from tasks.core.records import Record
from tasks.core.rows import Journal

STATE_FILE = "trainer_state.json"


class StepRow(Record):
    """A row that knows its optimiser step."""

    step: int
    """Counted from 1."""


Row = TypeVar("Row", bound=StepRow)


def last_checkpoint(folder: Path, processes: int = 1) -> tuple[Path | None, int]:
    """The latest whole checkpoint and its step, or (None, 0).

    The trainer writes its state file last, so a checkpoint that a kill cut short has none, or half of one.
    """
    found = [(step, path) for path in folder.glob("checkpoint-*") if (step := _step(path, processes)) > 0]
    if not found:
        return None, 0
    step, path = max(found)
    return path, step


def rewound(path: Path, kind: type[Row], step: int) -> Journal[Row]:
    """A journal without the rows of steps after `step`: the resumed run takes those steps again."""
    with Journal(path, kind) as journal:
        cut = next((offset for offset, row in journal.entries() if row.step > step), None)
    if cut is not None:
        os.truncate(path, cut)  # rows stand in the order of their steps
    return Journal(path, kind)


def _step(path: Path, processes: int) -> int:
    """Optimiser step of a whole checkpoint, else 0."""
    try:
        step = json.loads((path / STATE_FILE).read_text())["global_step"]
    except (FileNotFoundError, json.JSONDecodeError):
        return 0
    return int(step) if len(list(path.glob("rng_state*.pth"))) >= processes else 0
