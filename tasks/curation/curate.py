"""Curation: rows of the question sets to questions.parquet and pages.parquet (TruthRL section 4.1).

The rows are streamed twice: first for the questions, from which the split is dealt, then for the pages of the
questions that were kept, so that no more than a few pages are in memory at any time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from configs.settings import DataSettings, Section
from tasks.core.artifacts import StageResult
from tasks.core.progress import Progress
from tasks.core.records import Question, StoredPage
from tasks.core.rows import write_rows
from tasks.core.stage import Job
from tasks.curation.candidates import Candidate, Dropped, Side
from tasks.curation.leak import check_no_leak, normalise
from tasks.curation.load import missing_in, read_source
from tasks.curation.registry import reader_of
from tasks.curation.sources import Source, local_digests, sets_of, source_of
from tasks.curation.split import Sided, deal

QUESTIONS_FILE = "questions.parquet"
PAGES_FILE = "pages.parquet"


class CurateConfig(Section):
    """What curation reads. Built with :meth:`of`, so that a changed pin or local file changes the key."""

    data: DataSettings
    sources: dict[str, Source]
    """Tables of data/sources.toml for the sets that are read."""
    local_files: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of the files in data.local_dir, by name."""

    @classmethod
    def of(cls, data: DataSettings) -> CurateConfig:
        """The configuration of a run.

        Raises:
            KeyError: a set that data/sources.toml does not have.
        """
        sources = {name: source_of(name) for name in sets_of(data)}
        return cls(data=data, sources=sources, local_files=local_digests(data))


@dataclass
class _Tally:
    """Counts of one run of the stage."""

    rows: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    page_rows: dict[tuple[str, int], str] = field(default_factory=dict)
    """Question id of each row (set, number of the row) that has pages."""


def run(job: Job) -> StageResult:
    """Body of the stage: optional input "world" (a folder with the sets' files, read in place of local_dir).

    Writes questions.parquet (Question) and pages.parquet (StoredPage).

    Raises:
        SourceError: a set has no source, or a damaged one.
        MissingColumn: a set's file has another shape.
        LeakError: a leak key stands on both sides.
    """
    config = job.settings(CurateConfig)
    folder = _folder(job, config)
    progress = job.progress()
    tally = _Tally()
    progress.start(total=0, unit="rows")
    sets = {name: list(_questions(name, config, folder, tally, progress)) for name in config.sources}
    questions, dropped = deal(sets, config.data)
    check_no_leak(questions)
    tally.dropped.update(dropped)
    write_rows(job.data / QUESTIONS_FILE, questions)
    pages = write_rows(job.data / PAGES_FILE, _pages(questions, config, folder, tally))
    progress.update(force=True, note=f"{len(questions)} questions, {pages} pages")
    kept = Counter(f"{question.dataset}/{question.split}" for question in questions)
    return StageResult(
        rows=len(questions),
        counts={**{f"{name}/rows": count for name, count in tally.rows.items()}, **kept, "pages": pages},
        dropped=dict(tally.dropped),
    )


def _folder(job: Job, config: CurateConfig) -> Path | None:
    if job.inputs.get("world"):
        return job.input("world")
    return None if config.data.local_dir is None else Path(config.data.local_dir)


def _questions(
    name: str, config: CurateConfig, folder: Path | None, tally: _Tally, progress: Progress
) -> Iterator[Sided]:
    """A set's good rows, without their pages and without repeats."""
    seen: set[object] = set()
    for number, side, candidate in _candidates(name, config, folder):
        tally.rows[name] += 1
        progress.advance()
        if isinstance(candidate, Dropped):
            tally.dropped[f"{name}/{candidate.reason}"] += 1
            continue
        question = candidate.question
        keys = {question.id, (normalise(question.question), question.query_time)}
        if seen & keys:
            tally.dropped[f"{name}/duplicate"] += 1
            continue
        seen |= keys
        if candidate.bad_pages:
            tally.dropped[f"{name}/bad_page"] += candidate.bad_pages
        if candidate.pages:
            tally.page_rows[name, number] = question.id
        yield Sided(question, candidate.side or side)


def _candidates(
    name: str, config: CurateConfig, folder: Path | None
) -> Iterator[tuple[int, Side | None, Candidate | Dropped]]:
    """Number, side by place and reading of every row of a set."""
    source = config.sources[name]
    sides: tuple[Side, ...] = ("train", "test") if name == config.data.train_set else ("test",)
    read_row = reader_of(name)
    for number, (side, row) in enumerate(read_source(name, source, folder, sides)):
        if isinstance(row, Dropped):
            yield number, side, row
        elif missing_in(row, source.columns):
            yield number, side, Dropped("missing_column")
        else:
            yield number, side, read_row(row)


def _pages(questions: list[Question], config: CurateConfig, folder: Path | None, tally: _Tally) -> Iterator[StoredPage]:
    """Pages of the kept questions, question by question."""
    kept = {question.id for question in questions}
    wanted: Mapping[tuple[str, int], str] = {row: key for row, key in tally.page_rows.items() if key in kept}
    for name in dict.fromkeys(name for name, _ in wanted):
        for number, _, candidate in _candidates(name, config, folder):
            if isinstance(candidate, Candidate) and (name, number) in wanted:
                yield from candidate.pages
