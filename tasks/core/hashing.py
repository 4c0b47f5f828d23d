"""Canonical JSON and SHA-256: the one way in which keys and digests are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

BLOCK_BYTES = 1 << 20


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no white space, so that equal values give equal text.

    Raises:
        TypeError: a value that is neither JSON nor a pydantic model.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} has no canonical JSON form")


def digest(value: Any) -> str:
    """SHA-256 of a value's canonical JSON, 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks."""
    hasher = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            hasher.update(block)
    return hasher.hexdigest()


def folder_digest(folder: Path) -> str:
    """SHA-256 over the relative names and contents of every file below a folder."""
    return digest(dict(_files(folder)))


def _files(folder: Path) -> Iterable[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), file_digest(path)
