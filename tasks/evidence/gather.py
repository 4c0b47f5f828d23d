"""Evidence for the with-retrieval setting: stored pages, or a corpus, to references (TruthRL App. C).

The stage has two passes. The first extracts each distinct page once, in worker processes, and journals the result,
so that a killed stage repeats at most the pages in flight. The second goes question by question: chunks, ranking,
references, and the rows of the evidence store. Neither holds more than a few pages' HTML.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from configs.settings import EvidenceSettings, Section
from tasks.core.artifacts import StageResult
from tasks.core.hashing import file_digest
from tasks.core.progress import Progress
from tasks.core.records import Question, References, StoredPage
from tasks.core.rows import Journal, read_rows, write_rows
from tasks.core.stage import Job
from tasks.evidence.chunk import Chunk, Chunker, load_tokenizer
from tasks.evidence.corpus import Retrieved, retrieve
from tasks.evidence.extract import ExtractedPage
from tasks.evidence.references import PageText, build_references
from tasks.evidence.store_duckdb import EvidenceWriter
from tasks.evidence.workers import extract_all

log = logging.getLogger("plumbline")

CORPUS_FILE = "corpus.jsonl"
CACHED_TEXTS = 512
"""Chunked texts kept at hand: pages recur among neighbouring questions."""


class EvidenceConfig(Section):
    """What gathering reads. Built with :meth:`of`, so that a changed corpus changes the key."""

    evidence: EvidenceSettings
    corpus_sha256: str | None = None

    @classmethod
    def of(cls, evidence: EvidenceSettings) -> EvidenceConfig:
        """The configuration of a run.

        Raises:
            FileNotFoundError: evidence.corpus names no file.
        """
        return cls(
            evidence=evidence, corpus_sha256=None if evidence.corpus is None else file_digest(Path(evidence.corpus))
        )


class PageEntry(NamedTuple):
    """A stored page without its HTML."""

    rank: int
    url: str
    name: str
    sha256: str


def run(job: Job) -> StageResult:
    """Body of the stage: inputs "questions" and "tokenizer", optional "world" (a folder with corpus.jsonl).

    Writes references.parquet (References, one a question) and evidence.duckdb (tasks.evidence.store_duckdb).

    Raises:
        CorpusError: the corpus cannot be read.
    """
    settings = job.settings(EvidenceConfig).evidence
    questions = list(read_rows(job.input("questions") / "questions.parquet", Question))
    progress, counts = job.progress(), Counter[str]()
    dropped: Counter[str] = Counter()
    with Journal(job.work / "extracted.jsonl", ExtractedPage) as journal:
        extraction = Extraction(journal, settings, progress)
        entries = extraction.run(job.input("questions") / "pages.parquet", dropped)
        bare = {question.id: question.question for question in questions if question.id not in entries}
        corpus = _corpus(job, settings, bare)
        dropped += corpus.dropped
        progress.start(len(questions), unit="questions")
        writer = EvidenceWriter(job.work / "scratch")
        chunker = Chunker(load_tokenizer(job.input("tokenizer")), settings.chunk_tokens, settings.chunk_break)
        assembly = Assembly(extraction, entries, corpus, chunker, settings, writer, counts, dropped)
        rows = write_rows(job.data / "references.parquet", _watched(assembly.references(questions), progress))
        progress.update(force=True, note="writing evidence.duckdb")
        writer.finish(job.data / "evidence.duckdb")
    counts.update(extraction.counts)
    counts["corpus_passages"] = corpus.passages
    return StageResult(rows=rows, counts=dict(counts), dropped=dict(dropped))


class Extraction:
    """The first pass: the text of every distinct page, in the journal."""

    def __init__(self, journal: Journal[ExtractedPage], settings: EvidenceSettings, progress: Progress) -> None:
        self._journal = journal
        self._settings = settings
        self._progress = progress
        self._offsets = {page.sha256: offset for offset, page in journal.entries()}
        self.counts: Counter[str] = Counter({"pages_resumed": len(self._offsets)})

    def run(self, path: Path, dropped: Counter[str]) -> dict[str, list[PageEntry]]:
        """Extract what is not in the journal yet; returns the pages of each question, by rank."""
        entries: dict[str, list[PageEntry]] = defaultdict(list)
        stored = pq.read_metadata(path).num_rows
        self._progress.start(stored, unit="pages")
        fresh = self._fresh(read_rows(path, StoredPage), entries, dropped)
        for page in extract_all(fresh, self._settings.workers, self._settings.extract_timeout_s):
            self._keep(page)
        if self.counts["pages_in"] != stored:
            raise RuntimeError(
                f"read {self.counts['pages_in']} of {stored} pages of {path}: a defect of the extraction"
            )
        self.counts["pages_distinct"] = len(self._offsets)
        return {key: sorted(pages) for key, pages in entries.items()}

    def page(self, sha256: str) -> ExtractedPage:
        """A page of the journal."""
        (found,) = self._journal.read([self._offsets[sha256]])
        return found

    def _fresh(
        self, pages: Iterable[StoredPage], entries: dict[str, list[PageEntry]], dropped: Counter[str]
    ) -> Iterator[tuple[str, str]]:
        """Distinct pages that still need a worker; the others are noted or decided here."""
        given: set[str] = set(self._offsets)
        for page in pages:
            self.counts["pages_in"] += 1
            self._progress.advance()
            if len(entries[page.question_id]) >= self._settings.max_pages:
                dropped["page/over_max_pages"] += 1
                continue
            html = page.html.encode()
            sha256 = hashlib.sha256(html).hexdigest()
            entries[page.question_id].append(PageEntry(page.rank, page.url, page.name, sha256))
            if sha256 in given:
                continue
            given.add(sha256)
            if not html.strip():
                self._keep(ExtractedPage(sha256=sha256, status="failed", reason="empty_html", text=""))
            elif len(html) > self._settings.max_page_bytes:
                self._keep(ExtractedPage(sha256=sha256, status="failed", reason="too_large", text=""))
            else:
                yield sha256, page.html

    def _keep(self, page: ExtractedPage) -> None:
        (self._offsets[page.sha256],) = self._journal.append([page])


class Assembly:
    """The second pass: references and store rows, question by question."""

    def __init__(
        self,
        extraction: Extraction,
        entries: dict[str, list[PageEntry]],
        corpus: Retrieved,
        chunker: Chunker,
        settings: EvidenceSettings,
        writer: EvidenceWriter,
        counts: Counter[str],
        dropped: Counter[str],
    ) -> None:
        self._entries = entries
        self._corpus = corpus
        self._chunker = chunker
        self._settings = settings
        self._writer = writer
        self._counts = counts
        self._dropped = dropped
        self._page = lru_cache(CACHED_TEXTS)(extraction.page)
        self._chunks: dict[str, list[Chunk]] = {}

    def references(self, questions: Iterable[Question]) -> Iterator[References]:
        """References of each question; its pages and chunks go to the writer."""
        for question in questions:
            pages = list(self._pages(question.id))
            self._chunk(pages)
            idf = self._corpus.idf if question.id in self._corpus.hits else None
            found = build_references(question, pages, self._chunks, self._chunker, self._settings, idf)
            self._writer.add(found.pages, found.chunks)
            self._counts["chunks"] += len(found.chunks)
            self._counts["references"] += len(found.references.texts)
            self._counts["questions_without_references"] += not found.references.texts
            yield found.references

    def _pages(self, question_id: str) -> Iterator[PageText]:
        for entry in self._entries.get(question_id, ()):
            page = self._page(entry.sha256)
            if page.status == "failed":
                self._dropped[f"page/{page.reason}"] += 1
            else:
                self._counts[f"pages_{page.status}"] += 1
            yield PageText(
                entry.rank, entry.url, entry.name, "stored", page.status, page.reason, entry.sha256, page.text
            )
        for rank, hit in enumerate(self._corpus.hits.get(question_id, ())):
            text = f"{hit.passage.title}\n{hit.passage.text}".strip()
            key = f"corpus {hit.backwards}"
            yield PageText(rank, hit.passage.id, hit.passage.title, "corpus", "main_text", "", key, text)

    def _chunk(self, pages: list[PageText]) -> None:
        """Chunk the texts that are not at hand; forget older ones."""
        new = {page.text_key: page.text for page in pages if page.text_key not in self._chunks}
        self._chunks.update(zip(new, self._chunker.chunks(list(new.values())), strict=True))
        current = {page.text_key for page in pages}
        for key in list(self._chunks)[: max(0, len(self._chunks) - CACHED_TEXTS)]:
            if key not in current:
                del self._chunks[key]


def _corpus(job: Job, settings: EvidenceSettings, bare: dict[str, str]) -> Retrieved:
    """Passages for the questions that came without pages."""
    path: Path | None = None if settings.corpus is None else Path(settings.corpus)
    if job.inputs.get("world"):
        path = job.input("world") / CORPUS_FILE
    if not bare or path is None:
        if bare:
            log.warning(
                "%d questions came without pages and evidence.corpus is not set: they get no references", len(bare)
            )
        return Retrieved(hits={})
    return retrieve(path, bare, settings.top_k)


def _watched(rows: Iterable[References], progress: Progress) -> Iterator[References]:
    for row in rows:
        yield row
        progress.advance()
