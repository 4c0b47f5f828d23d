"""Lineage in the Prefect UI: a Markdown artifact with the run's graph, under a key that never changes.

Cached tasks create no artifacts, so this one is never cached; Prefect keeps the history of a key.
"""

from __future__ import annotations

from pathlib import Path

from prefect import task
from prefect.artifacts import create_markdown_artifact

from configs.settings import Settings
from tasks.core.artifacts import ArtifactRef, ArtifactStore
from tasks.reporting.lineage import collect, lineage_markdown


@task(name="lineage", task_run_name="lineage", persist_result=False)
def publish(settings: Settings, report: ArtifactRef) -> None:
    """Publish the lineage graph and the report's text."""
    manifests = collect(ArtifactStore(settings.run.store), [report])
    name = f"{settings.recipe}-{settings.profile}"
    create_markdown_artifact(
        key=f"lineage-{name}", markdown=lineage_markdown(manifests), description=f"Every artefact behind {name}"
    )
    create_markdown_artifact(
        key=f"report-{name}",
        markdown=(Path(report.path) / "report.md").read_text(encoding="utf-8"),
        description=f"Report of {name}; the full one is {Path(report.path) / 'report.html'}",
    )
