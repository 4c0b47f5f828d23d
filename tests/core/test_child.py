"""Stage processes: results and errors come back, the group dies with its parent and on request."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from configs.settings import RunSettings
from tasks.core import child
from tasks.core.child import StageFailed, run_in_child, stop_children
from tasks.core.stage import Job

BODIES = """
import os, subprocess, sys, time
from tasks.core.artifacts import StageResult

class Outage(RuntimeError):
    retryable = True

def good(job):
    print("to the log")
    return StageResult(rows=os.getpid())

def bad(job):
    raise ValueError("what went wrong")

def outage(job):
    raise Outage("try later")

def killed(job):
    os.kill(os.getpid(), 9)

def parent(job):
    grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (job.work / "pids").write_text(f"{os.getpid()} {grandchild.pid}")
    time.sleep(600)
"""


@pytest.fixture
def bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "toybodies.py").write_text(BODIES)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(child, "PRELOAD", ("json",))
    return tmp_path


def job(folder: Path, function: str) -> Job:
    work = folder / function
    (work / "data").mkdir(parents=True)
    return Job(
        label=function, body=f"toybodies:{function}", config={}, inputs={}, run=RunSettings(store=str(folder)),
        data=work / "data", work=work,
    )  # fmt: skip


def test_a_result_comes_back_from_another_process_and_output_goes_to_the_log(bodies: Path) -> None:
    result = run_in_child(job(bodies, "good"))
    assert result.rows != os.getpid()
    assert "to the log" in (bodies / "good" / "log.txt").read_text()


@pytest.mark.parametrize(
    ("function", "message", "retryable"),
    [("bad", "ValueError: what went wrong", False), ("outage", "Outage: try later", True), ("killed", "SIGKILL", True)],
)
def test_errors_name_their_cause_and_whether_to_try_again(
    bodies: Path, function: str, message: str, retryable: bool
) -> None:
    with pytest.raises(StageFailed, match=message) as failed:
        run_in_child(job(bodies, function))
    assert failed.value.retryable is retryable


def pids_of(work: Path) -> list[int]:
    deadline = time.monotonic() + 20
    while not (work / "pids").exists() or not (work / "pids").read_text().count(" "):
        assert time.monotonic() < deadline, "the stage did not start"
        time.sleep(0.05)
    return [int(pid) for pid in (work / "pids").read_text().split()]


def assert_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids):
        assert time.monotonic() < deadline, f"still alive: {pids}"
        time.sleep(0.05)


def test_stop_children_ends_a_stage_and_all_it_started(bodies: Path) -> None:
    errors: list[Exception] = []

    def wait() -> None:
        try:
            run_in_child(job(bodies, "parent"))
        except StageFailed as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    pids = pids_of(bodies / "parent")
    stop_children()
    thread.join(20)
    assert_gone(pids)
    assert "SIGKILL" in str(errors[0])


def test_kill_9_of_the_parent_leaves_nothing_behind(bodies: Path) -> None:
    script = bodies / "main.py"
    script.write_text(
        textwrap.dedent(f"""
        from pathlib import Path
        from configs.settings import RunSettings
        from tasks.core import child
        from tasks.core.stage import Job
        child.PRELOAD = ("json",)
        work = Path({str(bodies / "parent")!r}); (work / "data").mkdir(parents=True)
        child.run_in_child(Job(label="x", body="toybodies:parent", config={{}}, inputs={{}},
                               run=RunSettings(store={str(bodies)!r}), data=work / "data", work=work))
        """)
    )
    parent = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": str(bodies)})
    pids = pids_of(bodies / "parent")
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert_gone(pids)
