"""What all stage flows share: the resolved run, and the way a flow begins and ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from prefect.futures import wait
from pydantic import BaseModel

from configs.overrides import given
from configs.resolve import resolve
from configs.settings import PromptSetting, Section, Settings
from flows.preflight import require_ready
from flows.stages import Future, FutureInputs, submit
from tasks.core.artifacts import ArtifactRef
from tasks.core.child import stop_children
from tasks.core.stage import Stage
from tasks.verify.instrument import Instrument
from tasks.verify.prompts import answer_templates

TASK_THREADS = 64
"""Threads that wait for inputs; compute is bounded by run.parallel."""


class StagesFailed(RuntimeError):
    """Stages that failed, with their messages."""


@dataclass(frozen=True)
class Run:
    """A run's settings and the slices that several stages read."""

    settings: Settings
    instrument: Instrument
    training_templates: dict[PromptSetting, str]
    evaluation_templates: dict[PromptSetting, str]
    started: dict[str, Future] = field(default_factory=dict)
    """Stages by label."""

    def submit(self, kind: str, body: str, label: str, config: Section, inputs: FutureInputs) -> Future:
        """Start a stage as soon as its inputs are there."""
        self.started[label] = submit(Stage.of(kind, body, label, config), inputs, self.settings.run)
        return self.started[label]

    def finish(self, futures: Sequence[Future]) -> list[ArtifactRef]:
        """Wait for every stage and return these ones' artefacts.

        Raises:
            StagesFailed: some stage failed for good; the others have finished and are kept.
        """
        wait(list(self.started.values()))
        failed = {label: future.state for label, future in self.started.items() if future.state.is_failed()}
        if failed:
            raise StagesFailed("\n".join(f"{label}: {state.message}" for label, state in failed.items()))
        return [future.result() for future in futures]


@contextmanager
def begin(recipe: str, profile: str, seeds: Sequence[int] | None, overrides: BaseModel) -> Iterator[Run]:
    """Resolve and check everything, then run; whatever ends the flow ends its stages too.

    Raises:
        SettingsError: the settings do not resolve.
        NotReady: preflight found something missing.
    """
    settings = resolve(recipe, profile, given(overrides), seeds)
    require_ready(settings)
    try:
        yield Run(
            settings=settings,
            instrument=Instrument.of(settings),
            training_templates=answer_templates(settings.policy.prompt, settings.train.prompt_settings),
            evaluation_templates=answer_templates(settings.policy.prompt, settings.evaluate.prompt_settings),
        )
    except BaseException:  # cancellation and signals too: no stage outlives its flow
        stop_children()
        raise
