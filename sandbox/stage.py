"""The closed world as a stage: its question sets, pages and text as files that the pipeline's readers take."""

from __future__ import annotations

from configs.settings import Section, WorldSettings
from sandbox.write import write_world
from tasks.core.artifacts import StageResult
from tasks.core.stage import Job


class WorldConfig(Section):
    """What the world is made from."""

    world: WorldSettings


def run(job: Job) -> StageResult:
    """Inputs: none. Writes the question sets in the hub's shapes, corpus.jsonl and the pretraining text."""
    progress = job.progress()
    progress.start(1, "worlds")
    counts = write_world(job.settings(WorldConfig).world, job.data)
    progress.advance()
    return StageResult(rows=sum(counts.values()), counts=counts)
