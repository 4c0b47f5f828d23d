"""Evidence: stored pages to references for the with-retrieval setting."""

from __future__ import annotations

from flows.run import Run
from flows.sandbox import optional
from flows.stages import Future
from tasks.evidence.gather import EvidenceConfig


def gather(run: Run, world: Future | None, questions: Future, tokenizer: Future) -> Future:
    """references.parquet and evidence.duckdb."""
    inputs = {**optional(world=world), "questions": questions, "tokenizer": tokenizer}
    config = EvidenceConfig.of(run.settings.evidence)
    return run.submit("references", "tasks.evidence.gather:run", "gather evidence", config, inputs)
