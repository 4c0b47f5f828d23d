"""The report stage: results, curves, examples and lineage as HTML, Markdown and JSON.

Layout after TruthRL Table 1 and Figure 3. Nothing is measured here: every figure comes from results.json
of the results stage, so that the report can change without a resample. Conclusions are the words that the
results stage generated from outcomes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from configs.settings import EvaluateSettings, ReportSettings, Section
from tasks.core.artifacts import ArtifactStore, StageResult
from tasks.core.records import Question
from tasks.core.rows import read_rows, write_json
from tasks.core.stage import Job
from tasks.reporting.curves import load_training
from tasks.reporting.examples import choose_examples
from tasks.reporting.lineage import collect, lineage_markdown, lineage_table, total_cost
from tasks.reporting.published import load_published
from tasks.reporting.render import layout_digest, render_html, render_markdown
from tasks.verify.results import Results

WORLD_BANNER = "Closed-world figures: they check machinery and method; they are not the paper's figures."


class ReportConfig(Section):
    """What the report reads."""

    recipe: str
    """Name of the recipe."""
    profile: str
    """Name of the profile."""
    methods: tuple[str, ...]
    """Methods in the order of the table."""
    seeds: tuple[int, ...]
    """Training seeds."""
    evaluate: EvaluateSettings
    report: ReportSettings
    closed_world: bool
    """The figures come from the closed world, and every page must say so."""
    layout: str = Field(default_factory=layout_digest)
    """Digest of templates and published figures, which the code's version does not cover."""


def run(job: Job) -> StageResult:
    """Write report.html, report.md, lineage.md and results.json (all figures).

    Inputs: "results" (results.json of the results stage), "evaluation" (one artefact a method and seed),
    "questions", "training" (trained models with metrics.jsonl and meta.json; may be empty).

    Raises:
        FileNotFoundError: an input, or an artefact of its lineage, is gone.
    """
    context = gather(job)
    html = render_html(context)
    (job.data / "report.html").write_text(html, encoding="utf-8")
    (job.data / "report.md").write_text(render_markdown(context), encoding="utf-8")
    (job.data / "lineage.md").write_text(lineage_markdown(context["manifests"]), encoding="utf-8")
    write_json(job.data / "results.json", _figures(context))
    rulings: dict[str, int] = {}
    for claim in context["headline"]:
        rulings[f"claims: {claim.ruling}"] = rulings.get(f"claims: {claim.ruling}", 0) + 1
    return StageResult(rows=len(context["results"].cells), counts={"examples": len(context["examples"]), **rulings})


def gather(job: Job) -> dict[str, Any]:
    """Everything that the templates show."""
    config = job.settings(ReportConfig)
    results = Results.model_validate_json((job.input("results") / "results.json").read_bytes())
    questions = list(read_rows(job.input("questions") / "questions.parquet", Question))
    evaluations = [Path(ref.path) for ref in job.inputs["evaluation"]]
    training = [load_training(Path(ref.path)) for ref in job.inputs.get("training", [])]
    refs = [ref for refs in job.inputs.values() for ref in refs]
    manifests = collect(ArtifactStore(job.store), refs)
    return {
        "config": config,
        "banner": WORLD_BANNER if config.closed_world else None,
        "results": results,
        "headline": [claim for claim in results.claims if claim.scope == "all"],
        "published": load_published(config.recipe),
        "training": sorted(training, key=lambda one: (config.methods.index(one.method), one.seed)),
        "examples": choose_examples(evaluations, questions, config.methods, config.report.examples),
        "manifests": manifests,
        "lineage_rows": lineage_table(manifests),
        "cost": total_cost(manifests),
        "wall_s": sum(manifest.wall_s for manifest in manifests),
    }


def _figures(context: dict[str, Any]) -> dict[str, Any]:
    published = context["published"]
    return {
        "note": context["banner"],
        "run": context["config"].model_dump(mode="json"),
        "results": context["results"].model_dump(mode="json"),
        "training": [one.model_dump(mode="json") for one in context["training"]],
        "cost": context["cost"],
        "wall_s": context["wall_s"],
        "lineage": [manifest.model_dump(mode="json") for manifest in context["manifests"]],
        "published": published.model_dump(mode="json") if published else None,
    }
