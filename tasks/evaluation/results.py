"""The results stage: from every method's graded responses to tables, tests and claims.

It is a stage of its own between evaluation and report, so that rooms meet through artefacts and a new
layout of the report does not resample anything.
"""

from __future__ import annotations

from pathlib import Path

from configs.settings import EvaluateSettings, MethodSettings, Section
from tasks.core.artifacts import StageResult
from tasks.core.records import Question
from tasks.core.rows import read_rows, write_json
from tasks.core.stage import Job
from tasks.evaluation.claims_truthrl import CLAIMS
from tasks.evaluation.compare import Claim, check_claims, role
from tasks.evaluation.outcomes import Grid, load_grid
from tasks.evaluation.tables import Scope, by_popularity, table
from tasks.verify.results import ClaimOutcome, Results

CLAIMS_BY_RECIPE: dict[str, tuple[Claim, ...]] = {"truthrl": CLAIMS}
"""Claims that a recipe's runs are held against."""


class ResultsConfig(Section):
    """What the results stage reads."""

    recipe: str
    """Name of the recipe: chooses the claims."""
    methods: dict[str, MethodSettings]
    """Methods in the order of the table."""
    evaluate: EvaluateSettings


def run(job: Job) -> StageResult:
    """Compute results.json (a Results).

    Inputs: "evaluation" (one artefact a method and seed: responses.parquet and meta.json {"method",
    "seed"}), "questions" (questions.parquet).

    Raises:
        ValueError: evaluations and questions do not fit together.
    """
    config = job.settings(ResultsConfig)
    questions = list(read_rows(job.input("questions") / "questions.parquet", Question))
    folders = [Path(ref.path) for ref in job.inputs["evaluation"]]
    grid = load_grid(folders, questions, list(config.methods), config.evaluate.prompt_settings)
    results = analyse(grid, config)
    write_json(job.data / "results.json", results.model_dump(mode="json"))
    unscored = {
        f"{cell.method}, {cell.dataset}, {cell.setting}": cell.counts.unscored
        for cell in results.cells
        if cell.dataset in grid.datasets and cell.counts.unscored
    }
    return StageResult(rows=len(results.cells), counts={"questions": len(grid.questions)}, unscored=unscored)


def analyse(grid: Grid, config: ResultsConfig) -> Results:
    """Every figure of the comparison."""
    methods = tuple(config.methods)
    evaluate = config.evaluate
    return Results(
        recipe=config.recipe,
        base_method=evaluate.base_method,
        confidence=evaluate.confidence,
        resamples=evaluate.bootstrap,
        weights=evaluate.weights,
        methods=methods,
        settings=grid.settings,
        datasets=grid.datasets,
        seeds={method: grid.seeds(method) for method in methods},
        questions={dataset: len(grid.members(dataset)) for dataset in grid.datasets},
        cells=tuple(cell for setting in grid.settings for cell in table(grid, methods, setting, evaluate)),
        popularity=tuple(cell for setting in grid.settings for cell in by_popularity(grid, methods, setting)),
        claims=tuple(_claims(grid, config)),
    )


def _claims(grid: Grid, config: ResultsConfig) -> list[ClaimOutcome]:
    claims = CLAIMS_BY_RECIPE.get(config.recipe, ())
    by_role = {role(method): name for name, method in config.methods.items()}
    whole = Scope.of_sets(grid, grid.settings, grid.datasets, config.evaluate)
    found = check_claims(claims, whole, by_role, "all")
    if len(grid.settings) > 1:
        for setting in grid.settings:
            scope = Scope.of_sets(grid, [setting], grid.datasets, config.evaluate)
            found += check_claims(claims, scope, by_role, setting)
    return found
