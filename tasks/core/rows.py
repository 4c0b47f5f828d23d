"""Rows on disk: Parquet for what a stage made, an append-only journal for what it is making."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

Row = TypeVar("Row", bound=BaseModel)
GROUP_ROWS = 2_000


def write_rows(path: Path, rows: Iterable[BaseModel]) -> int:
    """Stream records into one Parquet file, GROUP_ROWS in memory at a time; returns how many.

    Each row is one JSON document in the column ``row``, so that nested records round-trip exactly; scalar
    fields stand beside it as columns of their own for SQL and data-frame users.
    """
    count = 0
    part = path.with_suffix(".part")
    writer: pq.ParquetWriter | None = None
    try:
        for group in _groups(rows):
            table = _table(group)
            writer = writer or pq.ParquetWriter(part, table.schema)
            writer.write_table(table)
            count += len(group)
        writer = writer or pq.ParquetWriter(part, pa.schema([("row", pa.string())]))
    finally:
        if writer is not None:
            writer.close()
    os.replace(part, path)
    return count


def read_rows(path: Path, kind: type[Row]) -> Iterator[Row]:
    """Stream the records of a file that write_rows made.

    Raises:
        pydantic.ValidationError: the file holds another kind of record.
    """
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["row"], batch_size=GROUP_ROWS):
            for text in batch.column(0).to_pylist():
                yield kind.model_validate_json(text)


def _groups(rows: Iterable[BaseModel]) -> Iterator[list[BaseModel]]:
    group: list[BaseModel] = []
    for row in rows:
        group.append(row)
        if len(group) == GROUP_ROWS:
            yield group
            group = []
    if group:
        yield group


def _table(group: list[BaseModel]) -> pa.Table:
    columns: dict[str, list[Any]] = {"row": [row.model_dump_json() for row in group]}
    types: dict[str, pa.DataType] = {"row": pa.string()}
    for name, field in type(group[0]).model_fields.items():
        arrow = _ARROW.get(field.annotation)
        if arrow is not None:
            columns[name] = [getattr(row, name) for row in group]
            types[name] = arrow
    return pa.table(columns, schema=pa.schema(list(types.items())))


_ARROW: dict[Any, pa.DataType] = {
    str: pa.string(),
    str | None: pa.string(),
    int: pa.int64(),
    int | None: pa.int64(),
    float: pa.float64(),
    float | None: pa.float64(),
    bool: pa.bool_(),
}


class Journal(Generic[Row]):
    """Append-only rows that survive kill -9: what a stage has paid for and need not do again.

    Each append is one write() of whole lines; a line cut short by a crash is the last one and is dropped
    at the next start.
    """

    def __init__(self, path: Path, kind: type[Row]) -> None:
        self.path = path
        self.kind = kind
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_torn_line(path)
        self._file = path.open("a+b", buffering=0)
        self._end = path.stat().st_size

    def append(self, rows: Iterable[Row]) -> list[int]:
        """Make rows durable before returning (fsync: a power cut loses none either); returns their offsets."""
        lines = [row.model_dump_json().encode() + b"\n" for row in rows]
        offsets = []
        for line in lines:
            offsets.append(self._end)
            self._end += len(line)
        if lines:
            self._file.write(b"".join(lines))
            os.fsync(self._file.fileno())
        return offsets

    def entries(self) -> Iterator[tuple[int, Row]]:
        """Every row so far with its offset, oldest first."""
        offset = 0
        with self.path.open("rb") as file:
            for line in file:
                yield offset, self.kind.model_validate_json(line)
                offset += len(line)

    def read(self, offsets: Iterable[int]) -> Iterator[Row]:
        """The rows at these offsets, in this order."""
        with self.path.open("rb") as file:
            for offset in offsets:
                file.seek(offset)
                yield self.kind.model_validate_json(file.readline())

    def close(self) -> None:
        """Close the file; the rows stay."""
        self._file.close()

    def __enter__(self) -> Journal[Row]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _drop_torn_line(path: Path) -> None:
    if not path.exists():
        return
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    if end != len(data):
        os.truncate(path, end)


def write_json(path: Path, value: Any) -> None:
    """Write JSON aside and move it into place, so that a reader never sees half a file."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(value, indent=1, ensure_ascii=False))
    os.replace(part, path)
