"""Progress of a running stage, in a small JSON file that anything can watch.

A stage may run in another process than the one that shows its progress, so the file is the interface:
``flows.watch`` draws it in the terminal, the stage's task copies it to Prefect's log.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from tasks.core.rows import write_json

WRITE_EVERY_S = 0.25


class Snapshot(BaseModel):
    """One reading of a stage's progress."""

    model_config = ConfigDict(extra="forbid")

    label: str
    done: int = 0
    total: int = 0
    unit: str = "rows"
    resumed: int = 0
    """How much of `done` an earlier, killed attempt had made."""
    started: float = 0.0
    """Unix time at which this attempt started."""
    updated: float = 0.0
    metrics: dict[str, float] = {}
    """Latest figures, as loss and reward."""
    note: str = ""

    @property
    def rate(self) -> float:
        """Units a second in this attempt."""
        return (self.done - self.resumed) / max(self.updated - self.started, 1e-9)

    @property
    def eta_s(self) -> float | None:
        """Seconds to go, or None while unknown."""
        return (self.total - self.done) / self.rate if self.total and self.done > self.resumed else None


class Progress:
    """Writer of a snapshot file, at most every WRITE_EVERY_S seconds."""

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        now = time.time()
        self._snapshot = Snapshot(label=label, started=now, updated=now)
        self._written = 0.0
        path.parent.mkdir(parents=True, exist_ok=True)
        self.update(force=True)

    def start(self, total: int, unit: str = "rows", resumed: int = 0) -> None:
        """Begin counting: `resumed` units of `total` are there already."""
        self.update(total=total, unit=unit, resumed=resumed, done=resumed, started=time.time(), force=True)

    def advance(self, units: int = 1, **metrics: float) -> None:
        """Count units as done and show the latest metrics."""
        self.update(done=self._snapshot.done + units, metrics={**self._snapshot.metrics, **metrics})

    def update(self, force: bool = False, **changes: Any) -> None:
        """Set fields of the snapshot; written now if forced, else within WRITE_EVERY_S."""
        now = time.time()
        self._snapshot = self._snapshot.model_copy(update={**changes, "updated": now})
        if force or now - self._written >= WRITE_EVERY_S or self._snapshot.done >= self._snapshot.total > 0:
            write_json(self.path, self._snapshot.model_dump())
            self._written = now


def read_snapshot(path: Path) -> Snapshot | None:
    """The latest snapshot, or None if the stage has not begun."""
    try:
        return Snapshot.model_validate(json.loads(path.read_text()))
    except FileNotFoundError:
        return None
