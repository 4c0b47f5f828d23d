"""Submit a run, show it until it ends, and cancel it when the person interrupts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.deployments import run_deployment
from prefect.states import Cancelling, Crashed
from rich.console import Console

from configs.settings import Settings
from flows.outcome import print_outcome
from flows.services import HOME, ServiceFailed, Services, running
from flows.watch import watch

CANCEL_WAIT_S = 40.0
POLL_S = 0.5


def follow(parameters: dict[str, Any], settings: Settings, services: Services, console: Console) -> int:
    """Run `reproduce/<recipe>` with these parameters and print its outcome; returns the exit status.

    Raises:
        KeyboardInterrupt: passed on, after the run was cancelled.
        ServiceFailed: the worker died.
    """
    started = time.monotonic()
    with get_client(sync_client=True) as client:
        submitted = run_deployment(f"reproduce/{settings.recipe}", parameters=parameters, timeout=0)
        assert isinstance(submitted, FlowRun)
        url = f"{services.ui_url}/runs/flow-run/{submitted.id}"
        console.print(f"run {submitted.name}: {url}", markup=False, highlight=False, soft_wrap=True)
        try:
            finished = watch(client, submitted.id, Path(settings.run.store), console, _require_worker)
        except KeyboardInterrupt:
            console.print("interrupted: cancelling the run (what is done is kept)")
            _cancel(client, submitted.id)
            raise
        except ServiceFailed:
            client.set_flow_run_state(submitted.id, Crashed(message="the worker died"), force=True)
            raise
    return print_outcome(finished, settings, services, time.monotonic() - started, console)


def _require_worker() -> None:
    if "worker" not in running():
        raise ServiceFailed(
            f"the worker died (its log: {HOME / 'worker.log'}); what was done is kept: the same command continues it"
        )


def _cancel(client: SyncPrefectClient, flow_run_id: UUID) -> None:
    client.set_flow_run_state(flow_run_id, Cancelling(), force=True)
    deadline = time.monotonic() + CANCEL_WAIT_S
    while time.monotonic() < deadline:
        state = client.read_flow_run(flow_run_id).state
        if state is not None and state.type not in (StateType.CANCELLING, StateType.RUNNING):
            return
        time.sleep(POLL_S)
