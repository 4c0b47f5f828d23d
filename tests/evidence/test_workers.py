"""Worker processes: bounded in time and memory, and gone with their parent."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tasks.evidence import workers
from tasks.evidence.workers import extract_all

BODY = "<p>The lighthouse at Skerry Point was lit for the first time in 1871, after four winters of work.</p>"
SPANS = "<html><body><p>" + "<span>word </span>" * 250_000 + "</p></body></html>"


def test_no_page_starts_no_process() -> None:
    assert list(extract_all([], 2, 5.0)) == []


@pytest.mark.slow
def test_every_page_gives_one_result_and_a_hanging_one_costs_only_itself() -> None:
    pages = [(f"p{number}", f"<html><body>{BODY}<p>Page {number}.</p></body></html>") for number in range(30)]
    pages.insert(3, ("spans", SPANS))
    started = time.monotonic()
    results = {page.sha256: page for page in extract_all(pages, 2, 2.0)}
    assert time.monotonic() - started < 30
    assert set(results) == {key for key, _ in pages}
    assert all(page.status == "main_text" for key, page in results.items() if key != "spans")
    assert (results["spans"].status, results["spans"].reason) == ("lenient", "timeout")
    assert results["spans"].text.count("word") == 250_000


@pytest.mark.slow
def test_pages_that_all_finish_at_once_do_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "wait", lambda running, **_: concurrent.futures.wait(running))
    pages = [(f"p{number}", f"<html><body>{BODY}<p>Page {number}.</p></body></html>") for number in range(12)]
    assert {page.sha256 for page in extract_all(pages, 1, 5.0)} == {key for key, _ in pages}


@pytest.mark.slow
def test_pages_are_read_only_as_fast_as_results_come() -> None:
    read = 0

    def endless() -> object:
        nonlocal read
        while True:
            read += 1
            yield f"p{read}", f"<html><body>{BODY}<p>{read}</p></body></html>"

    results = extract_all(endless(), 1, 5.0)  # type: ignore[arg-type]
    for _ in range(3):
        next(results)
    results.close()  # type: ignore[attr-defined]
    assert read <= 3 + 4 + 4


CHILD = """
import sys
from tasks.evidence.workers import extract_all
def pages():
    number = 0
    while True:
        number += 1
        yield f"p{number}", f"<html><body><p>Some words of page {number} that are long enough.</p></body></html>"
if __name__ == "__main__":
    for page in extract_all(pages(), 2, 5.0):
        print("got", flush=True)
"""


@pytest.mark.slow
def test_kill_9_of_the_parent_leaves_no_worker(tmp_path: Path) -> None:
    script = tmp_path / "stage.py"
    script.write_text(CHILD)
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, start_new_session=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"got\n"
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 10
    while _members(parent.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _members(parent.pid) == []


def _members(session: int) -> list[str]:
    """Processes of a session that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, member_of = stat.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if member_of == str(session) and state != "Z":
            found.append(stat.parent.name)
    return found
