"""A corpus of passages for question sets that carry no pages: BM25 over all of it, read in blocks.

TruthRL retrieves from the 2018 Wikipedia dump with the E5 dense retriever; this is BM25 over whatever corpus is
given, which needs no GPU. The corpus is read twice: first for the statistics of the whole, then block by block
for scores that equal those of one index over everything. Memory holds one block, the statistics' vocabulary and
the best passages of each question.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from tasks.evidence.bm25 import Bm25, Collection, words

BLOCK_PASSAGES = 50_000
BATCH_ROWS = 10_000
COLUMNS = ("id", "title", "text")


class Passage(NamedTuple):
    """One article, or part of one."""

    id: str
    title: str
    text: str

    @property
    def terms(self) -> list[str]:
        """What it is found by: title and text."""
        return words(f"{self.title} {self.text}")


class Hit(NamedTuple):
    """A passage found for a question. Sorts by score, then against reading order, so that max() is best."""

    score: float
    backwards: int
    """Minus the passage's position in the corpus: of equal scores the earlier passage is better."""
    passage: Passage


class CorpusError(RuntimeError):
    """The corpus cannot be read; the message says which file and what to do."""


@dataclass
class Retrieved:
    """The best passages of each question, best first, and what the corpus held."""

    hits: dict[str, list[Hit]]
    idf: dict[str, float] = field(default_factory=dict)
    """Inverse document frequency of the questions' terms in the whole corpus."""
    passages: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


def retrieve(path: Path, questions: Mapping[str, str], top_k: int, block_passages: int = BLOCK_PASSAGES) -> Retrieved:
    """Find passages for every question.

    Args:
        path: Parquet, or JSON lines, of id, title and text.
        questions: text of each question by id.
        top_k: passages a question; fewer where fewer score above 0.

    Raises:
        CorpusError: no such file, or it has no such columns.
    """
    found = Retrieved(hits={key: [] for key in questions})
    collection = Collection()
    for passage in read_passages(path, found.dropped):
        collection.add([passage.terms])
    found.passages = collection.documents
    if not collection.terms or not questions:
        return found
    idf, mean_length = collection.idf(), collection.terms / collection.documents
    queries = {key: words(text) for key, text in questions.items()}
    found.idf = {term: idf[term] for query in queries.values() for term in query if term in idf}
    passages = read_passages(path, Counter())
    first = 0
    while block := list(islice(passages, block_passages)):
        index = Bm25([passage.terms for passage in block], idf, mean_length)
        for key, query in queries.items():
            better = [Hit(score, -(first + at), block[at]) for at, score in index.top(query, top_k) if score > 0]
            found.hits[key] = sorted([*found.hits[key], *better], reverse=True)[:top_k]
        first += len(block)
    return found


def read_passages(path: Path, dropped: Counter[str]) -> Iterator[Passage]:
    """Passages of a corpus, streamed; rows without text are counted in `dropped`.

    Raises:
        CorpusError: no such file, or it has no such columns.
    """
    if not path.is_file():
        raise CorpusError(f"no corpus at {path}: correct evidence.corpus (Parquet or JSON lines of id, title, text)")
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _json_rows(path)
    for number, row in enumerate(rows):
        if row is None:
            dropped["corpus/bad_json"] += 1
            continue
        missing = [name for name in COLUMNS if name not in row]
        if missing and number == 0:
            raise CorpusError(f"{path} has no column {', '.join(map(repr, missing))}; it has {', '.join(row)}")
        text = row.get("text")
        if not isinstance(text, str) or not text.strip():
            dropped["corpus/no_text"] += 1
            continue
        yield Passage(str(row.get("id", number)), str(row.get("title") or ""), text)


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(path) as file:
        wanted = [name for name in COLUMNS if name in file.schema_arrow.names]
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=wanted):
            yield from batch.to_pylist()


def _json_rows(path: Path) -> Iterator[dict[str, Any] | None]:
    with path.open("rb") as file:
        for line in file:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested beyond reason
                row = None
            yield row if isinstance(row, dict) else None
