"""Curation: source rows to questions and stored pages."""

from __future__ import annotations

from flows.run import Run
from flows.sandbox import optional
from flows.stages import Future
from tasks.curation.curate import CurateConfig


def curate(run: Run, world: Future | None) -> Future:
    """questions.parquet and pages.parquet of all sets."""
    config = CurateConfig.of(run.settings.data)
    return run.submit("questions", "tasks.curation.curate:run", "curate", config, optional(world=world))
