"""A running flow in the terminal: every stage, how far it is, how fast, what it says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import FlowRun, TaskRun
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from tasks.core.progress import Snapshot, read_snapshot

REFRESH_S = 1.0
PLAIN_EVERY_S = 15.0
"""Pause between progress lines where the output is no terminal."""
PAGE = 200


def watch(
    client: SyncPrefectClient, flow_run_id: UUID, store: Path, console: Console, require_worker: Callable[[], None]
) -> FlowRun:
    """Show the run until it ends; returns it in its final state.

    Raises:
        Whatever `require_worker` raises, which is called again and again.
    """
    show = _Terminal(console) if console.is_terminal else _Lines(console)
    with show:
        while True:
            run = client.read_flow_run(flow_run_id)
            show.update(run, _tasks(client, flow_run_id), list(_snapshots(store)))
            if run.state is not None and run.state.is_final():
                return run
            require_worker()
            time.sleep(REFRESH_S)


def _tasks(client: SyncPrefectClient, flow_run_id: UUID) -> list[TaskRun]:
    of_run = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id]))
    found = client.read_task_runs(flow_run_filter=of_run, limit=PAGE)
    return sorted(found, key=lambda task: (task.start_time or task.created).timestamp() if task.created else 0.0)


def _snapshots(store: Path) -> Iterator[Snapshot]:
    for path in store.glob("work/*/*/progress.json"):
        snapshot = read_snapshot(path)
        if snapshot is not None:
            yield snapshot


def describe(snapshot: Snapshot) -> str:
    """One line: rows done, rate, time to go, latest figures."""
    if not snapshot.total:
        return snapshot.note
    eta = f", {snapshot.eta_s:.0f} s to go" if snapshot.eta_s is not None else ""
    figures = "".join(f", {name} {value:.3g}" for name, value in snapshot.metrics.items())
    resumed = f", {snapshot.resumed} kept from before" if snapshot.resumed else ""
    return f"{snapshot.done}/{snapshot.total} {snapshot.unit}, {snapshot.rate:.1f}/s{eta}{figures}{resumed}"


class _Terminal:
    """A table that is redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, refresh_per_second=4, transient=False)
        self._began = time.monotonic()

    def __enter__(self) -> _Terminal:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def update(self, run: FlowRun, tasks: list[TaskRun], snapshots: list[Snapshot]) -> None:
        by_label = {snapshot.label: snapshot for snapshot in snapshots}
        state = run.state.name if run.state else "?"
        table = Table(
            title=f"{run.name}: {state}, {time.monotonic() - self._began:.0f} s", title_justify="left", box=None
        )
        for heading in ("stage", "state", "", "progress"):
            table.add_column(heading, no_wrap=heading != "progress")
        for task in tasks:
            self._row(table, task, by_label.get(task.name))
        self._live.update(table)

    @staticmethod
    def _row(table: Table, task: TaskRun, snapshot: Snapshot | None) -> None:
        state = (task.state.name if task.state else None) or "?"
        style = {"Completed": "green", "Cached": "cyan", "Failed": "red", "Running": "yellow"}.get(state, "dim")
        if snapshot is not None and state == "Running":
            bar = ProgressBar(total=snapshot.total or None, completed=snapshot.done, width=20)
            table.add_row(task.name, f"[{style}]{state}", bar, describe(snapshot))
        else:
            took = f"{task.total_run_time.total_seconds():.1f} s" if state == "Completed" else ""
            table.add_row(task.name, f"[{style}]{state}", "", took)


class _Lines:
    """Lines for a log: every change of state, and progress now and then."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._states: dict[str, str] = {}
        self._last = time.monotonic()
        self._began = time.monotonic()

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, run: FlowRun, tasks: list[TaskRun], snapshots: list[Snapshot]) -> None:
        del run
        for task in tasks:
            state = (task.state.name if task.state else None) or "?"
            if state not in ("?", "Pending", self._states.get(task.name)):
                self._say(f"{task.name}: {state}")
            self._states[task.name] = state
        if time.monotonic() - self._last >= PLAIN_EVERY_S:
            self._last = time.monotonic()
            for snapshot in snapshots:
                if snapshot.total and self._states.get(snapshot.label) == "Running":
                    self._say(f"{snapshot.label}: {describe(snapshot)}")

    def _say(self, text: str) -> None:
        self._console.print(f"[{time.monotonic() - self._began:6.1f} s] {text}", markup=False, highlight=False)
