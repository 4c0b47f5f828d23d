"""What a finished run tells the person who started it."""

from __future__ import annotations

import json
from pathlib import Path

from prefect.client.schemas.objects import FlowRun
from rich.console import Console

from configs.settings import Settings
from flows.services import HOME, Services
from tasks.core.artifacts import ArtifactRef
from tasks.reporting.terminal import summary
from tasks.verify.results import Results


def print_outcome(run: FlowRun, settings: Settings, services: Services, wall_s: float, console: Console) -> int:
    """Print the results table or the error; returns the exit status."""
    url = f"{services.ui_url}/runs/flow-run/{run.id}"
    if run.state is None or not run.state.is_completed():
        reason = run.state.message if run.state else "no state"
        console.print(f"the run failed: {reason}", style="red", markup=False)
        console.print(f"Prefect UI: {url}\nworker log: {HOME / 'worker.log'}", markup=False, highlight=False)
        return 1
    report = ArtifactRef.model_validate(run.state.result(raise_on_failure=True))
    folder = Path(report.path)
    figures = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    console.print(summary(Results.model_validate(figures["results"])))
    latest = _link(settings, folder)
    console.print(f"\nfinished in {wall_s:.0f} s", markup=False, highlight=False)
    console.print(f"report:     {latest / 'report.html'}", markup=False, highlight=False)
    console.print(f"Prefect UI: {url}", markup=False, highlight=False)
    console.print("the services go on; `make down` stops them", markup=False, highlight=False)
    return 0


def _link(settings: Settings, folder: Path) -> Path:
    """Make data/runs/<recipe>-<profile> stand for the newest report."""
    link = Path(settings.run.store) / f"{settings.recipe}-{settings.profile}"
    link.unlink(missing_ok=True)
    link.symlink_to(folder.resolve(), target_is_directory=True)
    return link
