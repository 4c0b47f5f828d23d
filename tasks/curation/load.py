"""Rows of a question set, streamed: from local files, or from the hub at the pinned commit.

A line that is no JSON object is one bad row among good ones and is passed on as such; a file that is cut short
or is not what its name says stops the stage, because nobody knows what is missing.
"""

from __future__ import annotations

import bz2
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.curation.candidates import Dropped, Row, Side, check_columns
from tasks.curation.sources import Source, SourceError, how_to_get, local_files, warn_if_unpinned

log = logging.getLogger("plumbline")

BATCH_ROWS = 100
"""Rows of a Parquet file in memory together: CRAG's carry whole pages."""
LFS_POINTER = b"version https://git-lfs"


def read_source(
    dataset: str, source: Source, folder: Path | None, sides: Sequence[Side]
) -> Iterator[tuple[Side | None, Row | Dropped]]:
    """Rows of a set with the side that their place gives (None for local files).

    Args:
        folder: local files are looked for here first; None reads the hub.
        sides: hub splits to read, where the hub has them.

    Raises:
        SourceError: no file and no hub id, or a damaged file.
        MissingColumn: the first row lacks a column.
    """
    paths = local_files(folder, dataset) if folder is not None else []
    for path in paths:
        log.info("%s: reading %s", dataset, path)
        yield from ((None, row) for row in _checked(read_file(path), dataset, source, str(path)))
    if paths:
        return
    if source.hub is None:
        where = "data.local_dir is not set" if folder is None else f"{folder} holds no file of it"
        raise SourceError(f"{dataset}: {where}; {how_to_get(dataset, source)}")
    warn_if_unpinned(dataset, source)
    for side in sides:
        if side in source.splits:
            place = f"{source.hub}, split {source.splits[side]}"
            yield from ((side, row) for row in _checked(_read_hub(source, side), dataset, source, place))


def read_file(path: Path) -> Iterator[Row | Dropped]:
    """Rows of one .jsonl, .jsonl.bz2 or .parquet file.

    Raises:
        SourceError: the file is damaged.
    """
    if path.suffix == ".parquet":
        return _read_parquet(path)
    return _read_lines(path)


def _read_hub(source: Source, side: Side) -> Iterator[Row]:
    from datasets import load_dataset  # seconds to import, and not needed for local files

    rows = load_dataset(source.hub, source.config, revision=source.revision, split=source.splits[side], streaming=True)
    yield from rows


def _read_lines(path: Path) -> Iterator[Row | Dropped]:
    done = 0
    try:
        with closing(_open(path)) as file:
            for line in file:
                if line.strip():
                    yield _parse(line)
                    done += 1
    except (EOFError, OSError) as error:
        raise SourceError(_damage(path, done, error)) from error


def _open(path: Path) -> IO[bytes]:
    return bz2.open(path, "rb") if path.suffix == ".bz2" else path.open("rb")


def _parse(line: bytes) -> Row | Dropped:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested beyond reason
        return Dropped("bad_json")
    return row if isinstance(row, dict) else Dropped("no_object")


def _read_parquet(path: Path) -> Iterator[Row]:
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(f"{path} is no readable Parquet file ({error}): fetch it again") from error


def _damage(path: Path, done: int, error: Exception) -> str:
    with path.open("rb") as file:
        is_pointer = file.read(len(LFS_POINTER)) == LFS_POINTER
    if is_pointer:
        return f"{path} is a Git LFS pointer, not the data: run `git lfs pull`, or download the file by its URL"
    if isinstance(error, EOFError):
        return (
            f"{path} ends in the middle of its compressed data after {done} rows: the download was cut short; "
            "fetch it again and compare its size with the source's"
        )
    return f"{path} cannot be read after {done} rows ({error}): fetch it again, or correct its suffix"


def _checked(rows: Iterator[Row | Dropped], dataset: str, source: Source, place: str) -> Iterator[Row | Dropped]:
    """The rows, after the first good one's columns were checked."""
    checked = False
    for row in rows:
        if not checked and not isinstance(row, Dropped):
            check_columns(row, source.columns, dataset, place)
            checked = True
        yield row


def missing_in(row: Row, columns: Sequence[str]) -> bool:
    """Whether a row lacks a column (in JSON lines every row may)."""
    return any(name not in row for name in columns)
