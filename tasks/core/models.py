"""Where the weights of a model artefact are: in its own folder, or on the hub at a pinned commit."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tasks.core.rows import write_json

HUB_FILE = "hub.json"


class ModelSource(BaseModel):
    """First argument and revision of ``from_pretrained``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    revision: str | None = None


def model_source(folder: Path) -> ModelSource:
    """What a model artefact's folder stands for.

    Raises:
        FileNotFoundError: the folder holds neither a model nor a pointer to one.
    """
    pointer = folder / HUB_FILE
    if pointer.exists():
        return ModelSource.model_validate(json.loads(pointer.read_text()))
    if not (folder / "config.json").exists():
        raise FileNotFoundError(f"{folder} holds no model: neither config.json nor {HUB_FILE}")
    return ModelSource(name=str(folder))


def write_hub_pointer(folder: Path, source: ModelSource) -> None:
    """Make a folder stand for a hub model."""
    write_json(folder / HUB_FILE, source.model_dump())
