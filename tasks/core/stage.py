"""A stage: a function from artefacts to one artefact, run at most once per key.

key = hash(kind, body, code version, key view of the settings slice it reads, digests of its inputs). A stage's
body takes a :class:`Job` and returns a :class:`StageResult`; both are plain JSON, so a body runs in this
process or in one of its own (:mod:`tasks.core.child`) without knowing which.
"""

from __future__ import annotations

import importlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from configs.keyview import key_view
from configs.settings import RunSettings, Section
from tasks.core.artifacts import ArtifactRef, ArtifactStore, StageResult, describe
from tasks.core.code import code_version
from tasks.core.hashing import digest
from tasks.core.progress import Progress

log = logging.getLogger("plumbline")

Inputs = Mapping[str, ArtifactRef | Sequence[ArtifactRef]]
Config = TypeVar("Config", bound=Section)


class Stage(BaseModel):
    """What a stage is: its kind of artefact, its body and the settings slice that it reads."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    kind: str
    """Kind of the artefact, as "questions"."""
    body: str
    """Body as "package.module:function"."""
    label: str
    """What a person calls this instance, as "probe seed 0"."""
    config: dict[str, Any]
    """The slice in full, as JSON: what the body reads."""
    key_config: dict[str, Any]
    """The slice without PLACE fields: what the key is made of."""

    @classmethod
    def of(cls, kind: str, body: str, label: str, config: Section) -> Stage:
        return cls(
            kind=kind, body=body, label=label, config=config.model_dump(mode="json"), key_config=key_view(config)
        )

    @property
    def code(self) -> str:
        """Version of the code behind the body."""
        return code_version(self.body.split(":")[0])

    def key(self, inputs: Inputs) -> str:
        """Cache key, 24 hex digits."""
        parts = {name: [ref.digest for ref in refs] for name, refs in as_lists(inputs).items()}
        made_by = {"kind": self.kind, "body": self.body, "code": self.code, "config": self.key_config}
        return digest({**made_by, "inputs": parts})[:24]


class Job(BaseModel):
    """Everything a stage's body gets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str
    body: str
    config: dict[str, Any]
    inputs: dict[str, list[ArtifactRef]]
    run: RunSettings
    data: Path
    """Write the artefact's files here."""
    work: Path
    """Journals, checkpoints and logs: still there when a killed stage starts again."""

    def settings(self, kind: type[Config]) -> Config:
        """The slice, typed."""
        return kind.model_validate(self.config)

    def input(self, name: str) -> Path:
        """Data folder of the only artefact under that name."""
        (ref,) = self.inputs[name]
        return Path(ref.path)

    def progress(self) -> Progress:
        """The stage's progress file."""
        return Progress(self.work / "progress.json", self.label)

    @property
    def store(self) -> Path:
        """Root of the artefact store; shared caches lie below it."""
        return Path(self.run.store).resolve()


Runner = Callable[[Job], StageResult]


def run_here(job: Job) -> StageResult:
    """Run a body in this process."""
    module, function = job.body.split(":")
    result = getattr(importlib.import_module(module), function)(job)
    assert isinstance(result, StageResult), f"{job.body} returned {type(result).__name__}, not a StageResult"
    return result


def produce(stage: Stage, inputs: Inputs, run: RunSettings, runner: Runner = run_here) -> ArtifactRef:
    """The stage's artefact: found, or made and committed.

    Raises:
        Whatever the body raises; its journals stay for the next attempt.
    """
    store = ArtifactStore(run.store)
    key = stage.key(inputs)
    with store.lock(stage.kind, key):
        found = store.find(stage.kind, key)
        if found is not None:
            log.info("%s: already made (%s)", stage.label, key)
            return found
        work = store.work(stage.kind, key)
        attempts = _count_attempt(work)
        started = time.time()
        job = Job(
            label=stage.label,
            body=stage.body,
            config=stage.config,
            inputs=as_lists(inputs),
            run=run,
            data=work / "data",
            work=work,
        )
        result = runner(job)
        manifest = describe(
            stage.kind,
            key,
            stage.label,
            stage.code,
            stage.key_config,
            as_lists(inputs),
            result,
            work / "data",
            started,
            attempts,
        )
        return store.commit(manifest, work)


def as_lists(inputs: Inputs) -> dict[str, list[ArtifactRef]]:
    """Inputs with every name holding a list."""
    return {name: [refs] if isinstance(refs, ArtifactRef) else list(refs) for name, refs in inputs.items()}


def _count_attempt(work: Path) -> int:
    path = work / "attempts"
    count = int(path.read_text()) + 1 if path.exists() else 1
    path.write_text(str(count))
    return count
