"""The pipeline as Prefect flows: all of it, or up to one stage.

    source sets -> curate -> gather evidence -> probe -> train -> evaluate -> report

Every flow takes the same parameters and every stage is cached, so that a flow that stops early makes just
what the full one will reuse.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from prefect import flow
from prefect.task_runners import ThreadPoolTaskRunner

from configs.overrides import Overrides
from flows import curate as curation
from flows import evaluate as evaluation
from flows import evidence, lineage, sandbox
from flows import probe as probing
from flows import report as reporting
from flows import train as training
from flows.run import TASK_THREADS, Run, begin
from flows.stages import Future
from tasks.core.artifacts import ArtifactRef

Seeds = list[int] | None
NOTHING = Overrides()
OPTIONS: Any = {
    "flow_run_name": "{recipe}-{profile}",
    "task_runner": ThreadPoolTaskRunner(max_workers=TASK_THREADS),
    "persist_result": True,
    "result_serializer": "json",
}


class Pipeline:
    """The chain. Asking for a stage's artefact starts the stage and all that it needs, once."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def world(self) -> Future | None:
        return sandbox.build_world(self.run)

    @cached_property
    def tokenizer(self) -> Future:
        return sandbox.take_tokenizer(self.run, self.world)

    @cached_property
    def base(self) -> dict[int, Future]:
        return sandbox.take_base(self.run, self.world, self.tokenizer)

    @cached_property
    def questions(self) -> Future:
        return curation.curate(self.run, self.world)

    @cached_property
    def references(self) -> Future:
        return evidence.gather(self.run, self.world, self.questions, self.tokenizer)

    @cached_property
    def labels(self) -> dict[int, Future]:
        return probing.probe(self.run, self.base, self.questions, self.references)

    @cached_property
    def models(self) -> training.Models:
        return training.train(self.run, self.base, self.questions, self.references, self.labels)

    @cached_property
    def evaluations(self) -> training.Models:
        return evaluation.evaluate(self.run, self.models, self.questions, self.references)

    @cached_property
    def results(self) -> Future:
        return reporting.analyse(self.run, self.questions, self.evaluations)

    @cached_property
    def report(self) -> Future:
        return reporting.report(self.run, self.results, self.questions, self.models, self.evaluations)


@flow(name="reproduce", **OPTIONS)
def reproduce(
    recipe: str = "truthrl", profile: str = "sandbox", seeds: Seeds = None, overrides: Overrides = NOTHING
) -> ArtifactRef:
    """Reproduce a recipe in a profile, from the source sets to the report.

    Args:
        recipe: the method, a file in configs/recipes.
        profile: the place, a file in configs/profiles.
        seeds: training seeds; the profile's if not given.
        overrides: any settings, laid over recipe and profile.
    """
    with begin(recipe, profile, seeds, overrides) as run:
        return _report(run)


@flow(name="curate", **OPTIONS)
def curate(
    recipe: str = "truthrl", profile: str = "sandbox", seeds: Seeds = None, overrides: Overrides = NOTHING
) -> list[ArtifactRef]:
    """Questions, stored pages and references; parameters as in `reproduce`."""
    with begin(recipe, profile, seeds, overrides) as run:
        pipeline = Pipeline(run)
        return run.finish([pipeline.questions, pipeline.references])


@flow(name="probe", **OPTIONS)
def probe(
    recipe: str = "truthrl", profile: str = "sandbox", seeds: Seeds = None, overrides: Overrides = NOTHING
) -> list[ArtifactRef]:
    """What the base models know, and all that this needs; parameters as in `reproduce`."""
    with begin(recipe, profile, seeds, overrides) as run:
        return run.finish(list(Pipeline(run).labels.values()))


@flow(name="train", **OPTIONS)
def train(
    recipe: str = "truthrl", profile: str = "sandbox", seeds: Seeds = None, overrides: Overrides = NOTHING
) -> list[ArtifactRef]:
    """Every method's model, and all that this needs; parameters as in `reproduce`."""
    with begin(recipe, profile, seeds, overrides) as run:
        return run.finish(list(Pipeline(run).models.values()))


@flow(name="evaluate", **OPTIONS)
def evaluate(
    recipe: str = "truthrl", profile: str = "sandbox", seeds: Seeds = None, overrides: Overrides = NOTHING
) -> list[ArtifactRef]:
    """Every model's graded answers, and all that this needs; parameters as in `reproduce`."""
    with begin(recipe, profile, seeds, overrides) as run:
        return run.finish(list(Pipeline(run).evaluations.values()))


@flow(name="report", **OPTIONS)
def report(
    recipe: str = "truthrl", profile: str = "sandbox", seeds: Seeds = None, overrides: Overrides = NOTHING
) -> ArtifactRef:
    """The report, and all that this needs; parameters as in `reproduce`."""
    with begin(recipe, profile, seeds, overrides) as run:
        return _report(run)


def _report(run: Run) -> ArtifactRef:
    (finished,) = run.finish([Pipeline(run).report])
    lineage.publish(run.settings, finished)
    return finished
