"""The report, and the lineage as Prefect artifacts."""

from __future__ import annotations

from flows.run import Run
from flows.stages import Future
from flows.train import Models
from tasks.reporting.report import ReportConfig


def report(run: Run, questions: Future, models: Models, evaluations: Models) -> Future:
    """report.html, report.md, results.json and the lineage."""
    settings = run.settings
    config = ReportConfig(
        recipe=settings.recipe,
        profile=settings.profile,
        methods=tuple(settings.methods),
        seeds=settings.seeds,
        evaluate=settings.evaluate,
        report=settings.report,
        closed_world=settings.world is not None,
    )
    trained = [models[name, seed] for name, seed in models if settings.methods[name].trainer != "none"]
    inputs = {"questions": questions, "training": trained, "evaluation": list(evaluations.values())}
    return run.submit("report", "tasks.reporting.report:run", "report", config, inputs)
