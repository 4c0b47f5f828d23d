"""evidence.duckdb: every page that was read for a question and every chunk it was cut into.

    pages   question_id, page_rank, url, name, origin ('stored' with the question, or 'corpus'),
            status ('main_text', 'lenient', 'failed'), reason, characters (of the extracted text)
    chunks  question_id, page_rank, position (in the page), start_char, end_char (in the page's text), tokens,
            score (BM25 with the question), reference (place among the texts shown, 0 first; NULL: not shown), text

Rows are ordered by question_id, page_rank and position: the order, not an index, makes look-ups by question fast.
Chunk text is stored uncompressed, since a compressed long value costs a point look-up tens of milliseconds. The
chunks of a page in order of position are its text. Rows gather in Parquet beside the store and go in at once, in
order, so that the file is written once and no writer stays open.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

FLUSH_ROWS = 20_000
SCHEMAS = {
    "pages": pa.schema(
        [
            ("question_id", pa.string()),
            ("page_rank", pa.int32()),
            ("url", pa.string()),
            ("name", pa.string()),
            ("origin", pa.string()),
            ("status", pa.string()),
            ("reason", pa.string()),
            ("characters", pa.int32()),
        ]
    ),
    "chunks": pa.schema(
        [
            ("question_id", pa.string()),
            ("page_rank", pa.int32()),
            ("position", pa.int32()),
            ("start_char", pa.int32()),
            ("end_char", pa.int32()),
            ("tokens", pa.int32()),
            ("score", pa.float64()),
            ("reference", pa.int32()),
            ("text", pa.string()),
        ]
    ),
}
TABLES = """
CREATE TABLE pages (
    question_id VARCHAR NOT NULL, page_rank INTEGER NOT NULL, url VARCHAR NOT NULL, name VARCHAR NOT NULL,
    origin VARCHAR NOT NULL, status VARCHAR NOT NULL, reason VARCHAR NOT NULL, characters INTEGER NOT NULL
);
CREATE TABLE chunks (
    question_id VARCHAR NOT NULL, page_rank INTEGER NOT NULL, position INTEGER NOT NULL,
    start_char INTEGER NOT NULL, end_char INTEGER NOT NULL, tokens INTEGER NOT NULL,
    score DOUBLE NOT NULL, reference INTEGER, text VARCHAR NOT NULL USING COMPRESSION 'uncompressed'
);
"""
ORDER = {"pages": "question_id, page_rank", "chunks": "question_id, page_rank, position"}


class PageRow(NamedTuple):
    """One row of `pages`."""

    question_id: str
    page_rank: int
    url: str
    name: str
    origin: Literal["stored", "corpus"]
    status: str
    reason: str
    characters: int


class ChunkRow(NamedTuple):
    """One row of `chunks`."""

    question_id: str
    page_rank: int
    position: int
    start_char: int
    end_char: int
    tokens: int
    score: float
    reference: int | None
    text: str


class EvidenceWriter:
    """Gathers rows in Parquet files of a scratch folder, then writes the store in one go."""

    def __init__(self, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self._scratch = scratch
        self._rows: dict[str, list[PageRow | ChunkRow]] = {name: [] for name in SCHEMAS}
        self._files = {name: pq.ParquetWriter(self._path(name), schema) for name, schema in SCHEMAS.items()}

    def add(self, pages: Sequence[PageRow], chunks: Sequence[ChunkRow]) -> None:
        """Take the rows of a question."""
        for name, rows in (("pages", pages), ("chunks", chunks)):
            self._rows[name] += rows
            if len(self._rows[name]) >= FLUSH_ROWS:
                self._flush(name)

    def finish(self, path: Path) -> None:
        """Write the store aside and move it into place; the scratch files go."""
        for name, file in self._files.items():
            self._flush(name)
            file.close()
        part = path.with_name(path.name + ".part")
        part.unlink(missing_ok=True)
        with duckdb.connect(str(part)) as store:
            store.execute(TABLES)
            for name, order in ORDER.items():
                store.execute(f"INSERT INTO {name} SELECT * FROM read_parquet(?) ORDER BY {order}", [self._path(name)])
            store.execute("CHECKPOINT")
        os.replace(part, path)
        for name in SCHEMAS:
            Path(self._path(name)).unlink()

    def _flush(self, name: str) -> None:
        if self._rows[name]:
            columns = zip(*self._rows[name], strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMAS[name], strict=True)]
            self._files[name].write_table(pa.Table.from_arrays(arrays, schema=SCHEMAS[name]))
            self._rows[name] = []

    def _path(self, name: str) -> str:
        return str(self._scratch / f"{name}.parquet")


class EvidenceStore:
    """A finished store, read-only; any number of processes may read it."""

    def __init__(self, path: Path) -> None:
        self._store = duckdb.connect(str(path), read_only=True)

    def pages(self, question_ids: Sequence[str]) -> list[PageRow]:
        """Pages of these questions, in the store's order."""
        return [PageRow(**row) for row in self._of("pages", question_ids)]

    def chunks(self, question_ids: Sequence[str]) -> list[ChunkRow]:
        """Chunks of these questions, in the store's order."""
        return [ChunkRow(**row) for row in self._of("chunks", question_ids)]

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def _of(self, table: str, question_ids: Sequence[str]) -> list[dict[str, Any]]:
        """A semi join with an Arrow table: a long IN list is 25 times slower."""
        self._store.register("asked", pa.table({"question_id": pa.array(list(question_ids), pa.string())}))
        query = f"SELECT * FROM {table} SEMI JOIN asked USING (question_id) ORDER BY {ORDER[table]}"
        rows = self._store.execute(query).fetchall()
        self._store.unregister("asked")
        return [dict(zip(SCHEMAS[table].names, row, strict=True)) for row in rows]
