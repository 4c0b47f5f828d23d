"""Run a stage's body in a process group of its own, forked from a warm server.

Importing torch, transformers and trl takes many seconds; a fork server that has imported them once starts
each stage in milliseconds. The child leads its own session (one signal ends it and all it started), writes
its output to a log file, and dies with its parent: a thread in it watches the parent and kills the group,
so that kill -9 of the parent leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from tasks.core.artifacts import LOG_FILE, StageResult
from tasks.core.rows import write_json
from tasks.core.stage import Job, run_here

PRELOAD = (
    "tasks.probing.probe",
    "tasks.evaluation.evaluate",
    "tasks.evaluation.results",
    "tasks.training.sft",
    "flows.grpo",
    "tasks.training.preload",
)
"""Modules that the fork server imports once, by name: nothing is imported here."""
LOG_TAIL_LINES = 20

_live: set[int] = set()
_lock = threading.Lock()


class StageFailed(RuntimeError):
    """A stage's process ended without a result; the message holds the error and the log's last lines."""

    def __init__(self, message: str, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable
        """Trying again may help: the process was killed, or the error says so of itself."""


class _Outcome(BaseModel):
    result: StageResult | None = None
    error: str | None = None
    retryable: bool = False


def run_in_child(job: Job) -> StageResult:
    """Run a body in its own process group and wait for it.

    Raises:
        StageFailed: the body raised, or its process was killed.
    """
    outcome_path = job.work / "outcome.json"
    outcome_path.unlink(missing_ok=True)
    with _lock, _anonymous_main():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(PRELOAD))
        process = context.Process(target=_child, args=(job.model_dump_json(),), daemon=False)
        process.start()
    assert process.pid is not None
    _live.add(process.pid)
    try:
        process.join()
    finally:
        _kill_group(process.pid)
        _live.discard(process.pid)
    if not outcome_path.exists():
        reason = _exit_reason(process.exitcode)
        raise StageFailed(f"{job.label}: its process ended with {reason}\n{_tail(job.work)}", retryable=True)
    outcome = _Outcome.model_validate_json(outcome_path.read_bytes())
    if outcome.result is None:
        message = f"{job.label}: {outcome.error}\nFull log: {job.work / LOG_FILE}"
        raise StageFailed(message, outcome.retryable)
    return outcome.result


def stop_children() -> None:
    """Kill every stage process that this process started; their waiting callers raise StageFailed."""
    for pid in list(_live):
        _kill_group(pid)


def _child(job_json: str) -> None:
    os.setsid()
    job = Job.model_validate_json(job_json)
    log = os.open(job.work / LOG_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        outcome = _Outcome(result=run_here(job))
    except Exception as error:
        traceback.print_exc()
        outcome = _Outcome(error=f"{type(error).__name__}: {error}", retryable=bool(getattr(error, "retryable", False)))
    write_json(job.work / "outcome.json", outcome.model_dump())


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os.killpg(0, signal.SIGKILL)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


@contextlib.contextmanager
def _anonymous_main() -> Iterator[None]:
    """Hide the name of the main module: a forked stage must not run the caller's entry point again."""
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    main.__spec__ = None
    if file is not None:
        del main.__file__
    try:
        yield
    finally:
        main.__spec__ = spec
        if file is not None:
            main.__file__ = file


def _exit_reason(code: int | None) -> str:
    return f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"


def _tail(work: Path) -> str:
    path = work / LOG_FILE
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return "\n".join(lines[-LOG_TAIL_LINES:])
