"""Stages under Prefect: Cached where the artefact exists, run again where it was deleted, retried where that helps."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect import flow
from prefect.client.schemas.objects import State
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.testing.utilities import prefect_test_harness

from configs.settings import RunSettings, Section
from flows.stages import submit
from tasks.core import child, code
from tasks.core.artifacts import ArtifactRef
from tasks.core.stage import Stage

pytestmark = pytest.mark.slow

BODIES = """
from tasks.core.artifacts import StageResult

class Outage(RuntimeError):
    retryable = True

def good(job):
    (job.data / "x.txt").write_text(str(job.config) + str({k: [r.digest for r in v] for k, v in job.inputs.items()}))
    return StageResult(rows=1)

def once(job):
    mark = job.work / "tried"
    if not mark.exists():
        mark.write_text("")
        raise Outage("down for a moment")
    return good(job)

def broken(job):
    raise ValueError("a bug")
"""


class Config(Section):
    n: int = 0


@pytest.fixture(scope="module", autouse=True)
def _prefect() -> Iterator[None]:
    with prefect_test_harness(server_startup_timeout=60):
        yield


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunSettings:
    (tmp_path / "flowbodies.py").write_text(BODIES)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(child, "PRELOAD", ("json",))
    monkeypatch.setattr(code, "FIRST_PARTY", (*code.FIRST_PARTY, "flowbodies"))
    code.code_version.cache_clear()
    return RunSettings(store=str(tmp_path / "store"), retry_delay_s=0)


def states_of(run: RunSettings, n: int = 0, function: str = "good") -> tuple[dict[str, State], ArtifactRef | None]:
    @flow(task_runner=ThreadPoolTaskRunner(max_workers=4))  # type: ignore[arg-type]
    def chain() -> tuple[dict[str, State], ArtifactRef | None]:
        first = submit(Stage.of("first", f"flowbodies:{function}", "first", Config()), {}, run)
        second = submit(Stage.of("second", "flowbodies:good", "second", Config(n=n)), {"up": first}, run)
        second.wait()
        done = second.state.is_completed()
        return {"first": first.state, "second": second.state}, second.result() if done else None

    return chain()


def test_cached_rerun_and_change(run: RunSettings) -> None:
    states, ref = states_of(run)
    assert {name: state.name for name, state in states.items()} == {"first": "Completed", "second": "Completed"}
    assert ref is not None

    again, same = states_of(run)
    assert {name: state.name for name, state in again.items()} == {"first": "Cached", "second": "Cached"}
    assert same == ref

    changed, other = states_of(run, n=1)
    assert {name: state.name for name, state in changed.items()} == {"first": "Cached", "second": "Completed"}
    assert other is not None
    assert other.key != ref.key

    shutil.rmtree(Path(ref.path).parent)
    mended, remade = states_of(run)
    assert {name: state.name for name, state in mended.items()} == {"first": "Cached", "second": "Completed"}
    assert remade == ref


def test_an_outage_is_retried_and_a_bug_is_not(run: RunSettings) -> None:
    states, _ = states_of(run, function="once")
    assert states["first"].is_completed()
    states, ref = states_of(run, function="broken")
    assert ref is None
    assert states["first"].is_failed()
    assert "ValueError: a bug" in (states["first"].message or "")
