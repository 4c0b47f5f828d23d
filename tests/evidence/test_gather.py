"""The evidence stage: references within their bounds, equal pages once, and nothing twice after a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from configs.settings import EvidenceSettings, RunSettings
from tasks.core.artifacts import ArtifactRef
from tasks.core.records import Question, References, StoredPage
from tasks.core.rows import read_rows, write_rows
from tasks.core.stage import Job
from tasks.evidence import gather
from tasks.evidence.chunk import Chunker
from tasks.evidence.extract import ExtractedPage, extract_page
from tasks.evidence.gather import EvidenceConfig, run
from tasks.evidence.store_duckdb import EvidenceStore

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
SETTINGS = EvidenceSettings(chunk_tokens=30, top_k=2, max_reference_tokens=50, max_pages=4, max_page_bytes=20_000)
MakeJob = Callable[..., Job]


def question(key: str, text: str, dataset: str = "crag") -> Question:
    return Question(id=key, dataset=dataset, split="test", question=text, answers=("a",), group=key)


def stored(question_id: str, rank: int, html: str) -> StoredPage:
    return StoredPage(question_id=question_id, rank=rank, url=f"https://x/{rank}", name="n", snippet="", html=html)


def html_of(*sentences: str) -> str:
    body = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    return f"<html><body><nav><a href=/>Home</a></nav><article>{body}</article></body></html>"


TOWER = html_of(
    "The tower of Skerry Point is 38 metres high and was lit in 1871.",
    "Many visitors come by boat in summer, when the weather is kind to them.",
)
MARKET = html_of("The autumn market sells cheese from the valley.", "Wheels of it weigh nine kilograms.")
QUESTIONS = [
    question("q1", "how high is the tower of skerry point?"),
    question("q2", "what do wheels of cheese weigh?"),
    question("q3", "who is there?"),
    question("q4", "Which valley ripens cheese in cellars?", "nq_open"),
]
PAGES = [
    stored("q1", 0, MARKET),
    stored("q1", 1, TOWER),
    stored("q1", 2, ""),
    stored("q1", 3, TOWER),
    stored("q1", 4, MARKET),
    stored("q2", 0, MARKET),
    stored("q2", 1, html_of("long " * 5_000)),
    stored("q2", 2, TOWER),
    stored("q3", 0, "<html></html>"),
]


@pytest.fixture
def make_job(tmp_path: Path, tokenizer: Tokenizer) -> MakeJob:
    for name in ("questions", "tokenizer", "world", "work"):
        (tmp_path / name).mkdir()
    tokenizer.save(str(tmp_path / "tokenizer" / "tokenizer.json"))
    shutil.copy(SAMPLES / "corpus.jsonl", tmp_path / "world" / "corpus.jsonl")

    def make(
        questions: list[Question], pages: list[StoredPage], settings: EvidenceSettings = SETTINGS, world: bool = True
    ) -> Job:
        write_rows(tmp_path / "questions" / "questions.parquet", questions)
        write_rows(tmp_path / "questions" / "pages.parquet", pages)
        shutil.rmtree(tmp_path / "work" / "data", ignore_errors=True)
        (tmp_path / "work" / "data").mkdir()
        names = ("questions", "tokenizer", "world") if world else ("questions", "tokenizer")
        return Job(
            label="gather evidence",
            body="tasks.evidence.gather:run",
            config=EvidenceConfig(evidence=settings).model_dump(mode="json"),
            inputs={
                name: [ArtifactRef(kind=name, key="k", digest="d", rows=0, path=str(tmp_path / name))] for name in names
            },
            run=RunSettings(store=str(tmp_path)),
            data=tmp_path / "work" / "data",
            work=tmp_path / "work",
        )

    return make


def references(job: Job) -> dict[str, tuple[str, ...]]:
    return {row.question_id: row.texts for row in read_rows(job.data / "references.parquet", References)}


@pytest.mark.slow
def test_references_counts_and_store(make_job: MakeJob, tokenizer: Tokenizer) -> None:
    job = make_job(QUESTIONS, PAGES)
    result = run(job)
    found = references(job)
    assert list(found) == ["q1", "q2", "q3", "q4"]
    assert "38 metres" in found["q1"][0]
    assert "weigh nine" in found["q2"][0]
    assert found["q3"] == ()
    assert any("cellars of stone" in text for text in found["q4"])
    chunker = Chunker(tokenizer, 30)
    assert all(len(texts) <= 2 and sum(chunker.count(texts)) <= 50 for texts in found.values())
    assert all(len(set(texts)) == len(texts) and "\n" not in "".join(texts) for texts in found.values())
    assert result.rows == 4
    assert result.counts["pages_in"] == 9
    assert result.counts["pages_distinct"] == 5
    assert result.counts["pages_main_text"] == 5
    assert result.counts["questions_without_references"] == 1
    assert result.counts["corpus_passages"] == 5
    assert result.dropped == {
        "page/over_max_pages": 1,
        "page/empty_html": 1,
        "page/too_large": 1,
        "page/no_text": 1,
        "corpus/bad_json": 1,
        "corpus/no_text": 1,
    }
    store = EvidenceStore(job.data / "evidence.duckdb")
    assert [(page.page_rank, page.status, page.reason) for page in store.pages(["q1"])] == [
        (0, "main_text", ""),
        (1, "main_text", ""),
        (2, "failed", "empty_html"),
        (3, "main_text", ""),
    ]
    chunks = store.chunks(["q1"])
    page = [chunk for chunk in chunks if chunk.page_rank == 1]
    assert "".join(chunk.text for chunk in page) == extract_page("k", TOWER).text
    shown = sorted((chunk.reference, " ".join(chunk.text.split())) for chunk in chunks if chunk.reference is not None)
    assert tuple(text for _, text in shown) == found["q1"]
    assert [place for place, _ in shown] == list(range(len(shown)))
    assert {page.origin for page in store.pages(["q4"])} == {"corpus"}
    assert result.counts["chunks"] == len(store.chunks(["q1", "q2", "q3", "q4"]))
    store.close()


def test_without_pages_and_corpus_questions_have_no_references(
    make_job: MakeJob, caplog: pytest.LogCaptureFixture
) -> None:
    job = make_job(QUESTIONS[3:], [], world=False)
    with caplog.at_level("WARNING", "plumbline"):
        result = run(job)
    assert references(job) == {"q4": ()}
    assert result.counts["questions_without_references"] == 1
    assert "evidence.corpus is not set" in caplog.text


def test_a_bound_smaller_than_the_first_chunk_cuts_it(make_job: MakeJob, tokenizer: Tokenizer) -> None:
    settings = SETTINGS.model_copy(update={"max_reference_tokens": 5})
    job = make_job(QUESTIONS[3:], [], settings)
    run(job)
    (text,) = references(job)["q4"]
    assert 1 <= len(tokenizer.encode(text).ids) <= 5


def test_journaled_pages_are_not_extracted_again(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(QUESTIONS, PAGES)
    run(job)
    first = references(job)
    given: list[str] = []

    def watched(pages: object, *_: object) -> list[ExtractedPage]:
        given.extend(sha256 for sha256, _ in pages)  # type: ignore[attr-defined]
        return []

    monkeypatch.setattr(gather, "extract_all", watched)
    again = run(make_job(QUESTIONS, PAGES))
    assert given == []
    assert again.counts["pages_resumed"] == 5
    assert references(job) == first


STAGE = """
import sys
from pathlib import Path
from tasks.core.stage import Job, run_here
if __name__ == "__main__":
    run_here(Job.model_validate_json(Path(sys.argv[1]).read_text()))
"""


@pytest.mark.slow
def test_kill_9_repeats_at_most_what_was_in_flight(make_job: MakeJob, tmp_path: Path) -> None:
    filler = [f"Sentence {number} tells of nothing in particular but fills the page." for number in range(60)]
    pages = [stored("q1", rank, html_of(f"Page {rank} is about the tower.", *filler)) for rank in range(200)]
    settings = SETTINGS.model_copy(update={"max_pages": 200})
    job = make_job(QUESTIONS[:1], pages, settings)
    (tmp_path / "job.json").write_text(job.model_dump_json())
    (tmp_path / "stage.py").write_text(STAGE)
    journal = job.work / "extracted.jsonl"
    process = subprocess.Popen([sys.executable, str(tmp_path / "stage.py"), str(tmp_path / "job.json")])
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if journal.exists() and len(journal.read_bytes().splitlines()) >= 20:
            break
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = len([line for line in journal.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")])
    assert 20 <= done < 200
    result = run(job)
    assert result.counts["pages_resumed"] == done
    keys = [json.loads(line)["sha256"] for line in journal.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 200
    assert len(references(job)["q1"]) >= 1


def test_a_changed_corpus_changes_the_key(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text("a")
    settings = EvidenceSettings(corpus=str(path))
    before = EvidenceConfig.of(settings)
    path.write_text("b")
    assert EvidenceConfig.of(settings) != before
    assert EvidenceConfig.of(EvidenceSettings()) == EvidenceConfig(evidence=EvidenceSettings())
