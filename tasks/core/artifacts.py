"""The artefact store: what a stage made, under the key of what it was made from.

Layout below the store's root::

    artifacts/<kind>/<key>/data/...        the files
    artifacts/<kind>/<key>/log.txt         what the stage's process printed
    artifacts/<kind>/<key>/manifest.json   written last; without it the artefact does not exist
    work/<kind>/<key>/data/...             files while a stage runs
    work/<kind>/<key>/...                  row journals, logs and checkpoints that outlive a killed stage
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tasks.core.hashing import folder_digest

LOG_FILE = "log.txt"


class ArtifactRef(BaseModel):
    """All that passes between stages: which artefact, what it holds, where it lies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    key: str
    digest: str
    """SHA-256 over the data files: equal contents, equal digest, whatever made them."""
    rows: int
    path: str
    """Folder of the data files."""


class Manifest(BaseModel):
    """The record of how an artefact came to be: the lineage, one node of it."""

    model_config = ConfigDict(extra="forbid")

    kind: str
    key: str
    label: str
    """What a person calls it, as "probe seed 0"."""
    digest: str
    rows: int
    code: str
    """Version of the stage's code."""
    config: dict[str, Any]
    """The settings that the stage reads."""
    inputs: dict[str, list[ArtifactRef]]
    counts: dict[str, int] = Field(default_factory=dict)
    """Rows in and kept, samples drawn and saved, and the like."""
    dropped: dict[str, int] = Field(default_factory=dict)
    """Rows dropped, by reason."""
    unscored: dict[str, int] = Field(default_factory=dict)
    """Measurements that the instrument failed to make, by reason."""
    cost: dict[str, float] = Field(default_factory=dict)
    """Calls, tokens and US dollars spent."""
    wall_s: float
    """Seconds that this attempt took; earlier, killed attempts are not in it."""
    attempts: int
    """Attempts, killed ones included."""
    created_at: float
    """Unix time, seconds."""


class StageResult(BaseModel):
    """What a stage's body returns; the store turns it into the manifest."""

    model_config = ConfigDict(extra="forbid")

    rows: int
    counts: dict[str, int] = Field(default_factory=dict)
    dropped: dict[str, int] = Field(default_factory=dict)
    unscored: dict[str, int] = Field(default_factory=dict)
    cost: dict[str, float] = Field(default_factory=dict)


class ArtifactStore:
    """Artefacts below one folder; safe for several processes."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).resolve()

    def find(self, kind: str, key: str) -> ArtifactRef | None:
        """The finished artefact of that key, or None."""
        manifest = self._manifest_path(kind, key)
        if not manifest.exists():
            return None
        found = Manifest.model_validate_json(manifest.read_bytes())
        return ArtifactRef(kind=kind, key=key, digest=found.digest, rows=found.rows, path=str(manifest.parent / "data"))

    def manifest(self, ref: ArtifactRef) -> Manifest:
        """The manifest of a finished artefact.

        Raises:
            FileNotFoundError: the artefact was deleted.
        """
        return Manifest.model_validate_json(self._manifest_path(ref.kind, ref.key).read_bytes())

    def work(self, kind: str, key: str) -> Path:
        """Folder in which a stage of that key keeps its rows while it runs; ``data`` in it starts empty."""
        folder = self.root / "work" / kind / key
        shutil.rmtree(folder / "data", ignore_errors=True)  # what a failed attempt left
        (folder / "data").mkdir(parents=True)
        return folder

    @contextmanager
    def lock(self, kind: str, key: str) -> Iterator[None]:
        """Hold the key: a second run that wants the same artefact waits, then finds it made."""
        path = self.root / "locks" / f"{kind}-{key}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def commit(self, manifest: Manifest, work: Path) -> ArtifactRef:
        """Move a finished stage's files into place, the manifest last."""
        final = self._manifest_path(manifest.kind, manifest.key).parent
        shutil.rmtree(final, ignore_errors=True)  # data whose manifest never came
        final.mkdir(parents=True)
        os.replace(work / "data", final / "data")
        if (work / LOG_FILE).exists():
            os.replace(work / LOG_FILE, final / LOG_FILE)
        aside = final / "manifest.json.part"
        aside.write_text(manifest.model_dump_json(indent=1))
        os.replace(aside, final / "manifest.json")
        shutil.rmtree(work)
        found = self.find(manifest.kind, manifest.key)
        assert found is not None
        return found

    def _manifest_path(self, kind: str, key: str) -> Path:
        return self.root / "artifacts" / kind / key / "manifest.json"


def describe(
    kind: str,
    key: str,
    label: str,
    code: str,
    config: dict[str, Any],
    inputs: dict[str, list[ArtifactRef]],
    result: StageResult,
    data: Path,
    started: float,
    attempts: int,
) -> Manifest:
    """Manifest of a stage that has just finished."""
    now = time.time()
    return Manifest(
        kind=kind,
        key=key,
        label=label,
        digest=folder_digest(data),
        code=code,
        config=config,
        inputs=inputs,
        wall_s=now - started,
        attempts=attempts,
        created_at=now,
        **result.model_dump(),
    )
