"""The measuring instrument as one settings slice: judge, its prompt's text and its endpoint.

Every stage that grades holds an Instrument in its config, so that a changed judge, prompt or model reruns
exactly the stages that measure, and all of them measure alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from configs.settings import EndpointSettings, JudgeSettings, Section, Settings
from tasks.core.stage import Job
from tasks.llm.client import ChatClient
from tasks.verify.grader import Grader
from tasks.verify.prompts import load_template


class Instrument(Section):
    """Judge settings, the text of its prompt, and where it is served."""

    judge: JudgeSettings
    template: str
    endpoint: EndpointSettings

    @classmethod
    def of(cls, settings: Settings) -> Instrument:
        """The instrument that a run's settings describe.

        Raises:
            FileNotFoundError: no such judge prompt.
        """
        judge = settings.judge
        return cls(judge=judge, template=load_template(judge.prompt), endpoint=settings.endpoints[judge.endpoint])


@contextmanager
def open_grader(instrument: Instrument, job: Job) -> Iterator[tuple[Grader, ChatClient]]:
    """A grader whose replies are cached in the job's store; the client tells what it cost."""
    with ChatClient(instrument.endpoint, job.store, job.run.budget_usd) as client:
        yield Grader(instrument.judge, instrument.template, client), client
