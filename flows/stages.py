"""The one Prefect task: a stage, cached under its own key, run in a process of its own.

Prefect's cache key is the artefact's key, so the UI shows Cached exactly where nothing needs to run. A
cached result whose artefact was deleted is forgotten first, and the stage runs.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from prefect import get_run_logger, task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext
from prefect.futures import PrefectFuture
from prefect.settings import get_current_settings

from configs.settings import RunSettings
from tasks.core.artifacts import ArtifactRef, ArtifactStore, StageResult
from tasks.core.child import StageFailed, run_in_child
from tasks.core.stage import Inputs, Job, Stage, produce

Future = PrefectFuture[ArtifactRef]
FutureInputs = Mapping[str, "Future | Sequence[Future]"]

_slots: dict[int, threading.Semaphore] = {}
_slots_lock = threading.Lock()


def submit(stage: Stage, inputs: FutureInputs, run: RunSettings) -> Future:
    """Run a stage as soon as its inputs are there; nothing runs if its artefact exists."""
    options = _run_stage.with_options(
        name=stage.kind,
        task_run_name=stage.label,
        retries=run.retries,
        retry_delay_seconds=run.retry_delay_s,
        retry_condition_fn=_worth_retrying,
    )
    return options.submit(stage, cast(Inputs, dict(inputs)), run)  # Prefect hands the task results, not futures


def _cache_key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    stage: Stage = parameters["stage"]
    key = stage.key(parameters["inputs"])
    name = f"{stage.kind}-{key}"
    if ArtifactStore(parameters["run"].store).find(stage.kind, key) is None:
        results = Path(str(get_current_settings().results.local_storage_path))
        (results / name).unlink(missing_ok=True)
    return name


@task(persist_result=True, result_serializer="json", cache_policy=CacheKeyFnPolicy(cache_key_fn=_cache_key))
def _run_stage(stage: Stage, inputs: Inputs, run: RunSettings) -> ArtifactRef:
    ref = produce(stage, inputs, run, _in_slot)
    manifest = ArtifactStore(run.store).manifest(ref)
    dropped = "".join(f", {count} dropped: {reason}" for reason, count in manifest.dropped.items())
    unscored = "".join(f", {count} unscored: {reason}" for reason, count in manifest.unscored.items())
    get_run_logger().info("%s: %d rows in %.1f s%s%s", stage.label, ref.rows, manifest.wall_s, dropped, unscored)
    return ref


def _in_slot(job: Job) -> StageResult:
    """Run in a child process, at most `run.parallel` at a time in this process."""
    with _slots_lock:
        slots = _slots.setdefault(job.run.parallel, threading.Semaphore(job.run.parallel))
    with slots:
        return run_in_child(job)


def _worth_retrying(_: Any, __: TaskRun, state: State[Any]) -> bool:
    try:
        state.result()
    except StageFailed as error:
        return error.retryable
    except Exception:  # any other error is a bug or a broken setting: trying again cannot help
        return False
    return False
