"""Results and report."""

from __future__ import annotations

from flows.run import Run
from flows.stages import Future, FutureInputs
from flows.train import Models
from tasks.evaluation.results import ResultsConfig
from tasks.reporting.report import ReportConfig


def analyse(run: Run, questions: Future, evaluations: Models) -> Future:
    """results.json: every figure with its interval, every test, every claim's outcome."""
    settings = run.settings
    config = ResultsConfig(recipe=settings.recipe, methods=settings.methods, evaluate=settings.evaluate)
    inputs: FutureInputs = {"questions": questions, "evaluation": list(evaluations.values())}
    return run.submit("results", "tasks.evaluation.results:run", "results", config, inputs)


def report(run: Run, results: Future, questions: Future, models: Models, evaluations: Models) -> Future:
    """report.html, report.md, lineage.md and results.json."""
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
    inputs: FutureInputs = {
        "results": results, "questions": questions, "training": trained, "evaluation": list(evaluations.values()),
    }  # fmt: skip
    return run.submit("report", "tasks.reporting.report:run", "report", config, inputs)
