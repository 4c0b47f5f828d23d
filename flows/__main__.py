"""Command line: `python -m flows run|up|down|status|preflight`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import Any

import yaml
from rich.console import Console

from configs.resolve import SettingsError, merge, names, resolve
from configs.settings import Settings
from flows.services import HOME, ServiceFailed, down, running, up

PLAIN_WIDTH = 132
"""Columns where the output is no terminal."""

console = Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    asked = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)  # also where a shell started us in the background
    try:
        return int(asked.command(asked))
    except (SettingsError, ServiceFailed) as error:
        console.print(str(error), style="red", markup=False)
        return 2


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m flows", description="Run a recipe and the services it needs.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="start what is needed, run a recipe, show it, print its results")
    run.set_defaults(command=_run)
    start = commands.add_parser("up", help="start Prefect server, worker and closed world; deploy prefect.yaml")
    start.set_defaults(command=_up)
    check = commands.add_parser("preflight", help="check what a run needs, start nothing")
    check.set_defaults(command=_preflight)
    for command in (run, start, check):
        command.add_argument("--recipe", default="truthrl", help=f"one of: {', '.join(names('recipes'))}")
        command.add_argument("--profile", default="sandbox", help=f"one of: {', '.join(names('profiles'))}")
        command.add_argument("--seeds", type=_seeds, help="training seeds, as 0,1,2 (default: the profile's)")
        command.add_argument(
            "--set", action="append", default=[], metavar="KEY=VALUE", type=_assignment, dest="overrides",
            help="override a setting, as train.grpo.learning_rate=1e-4; may be repeated",
        )  # fmt: skip
    stop = commands.add_parser("down", help="stop what `up` or `run` started")
    stop.set_defaults(command=_down)
    status = commands.add_parser("status", help="what runs")
    status.set_defaults(command=_status)
    return parser


def _seeds(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _assignment(text: str) -> dict[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    nested: Any = yaml.safe_load(value)
    if isinstance(nested, str):
        nested = _number(nested)
    for part in reversed(key.split(".")):
        nested = {part: nested}
    return dict(nested)


def _number(text: str) -> float | str:
    """YAML reads 1e-4 as text; people mean the number."""
    try:
        return float(text)
    except ValueError:
        return text


def _overrides(asked: argparse.Namespace) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for assignment in asked.overrides:
        merged = merge(merged, assignment)
    return merged


def _settings(asked: argparse.Namespace) -> Settings:
    """Resolve before anything starts, so that a typo costs no time."""
    os.environ.setdefault("PLUMBLINE_WORLD_URL", "http://127.0.0.1:0")  # the real one is known once it runs
    return resolve(asked.recipe, asked.profile, _overrides(asked), asked.seeds)


def _up(asked: argparse.Namespace) -> int:
    services = up(_settings(asked).world, _say)
    _say(f"Prefect UI: {services.ui_url}")
    return 0


def _down(_: argparse.Namespace) -> int:
    down(_say)
    return 0


def _status(_: argparse.Namespace) -> int:
    found = running()
    for name, service in found.items():
        _say(f"{name}: process {service.pid}{f', {service.url}' if service.url else ''}, log {HOME / f'{name}.log'}")
    if not found:
        _say("nothing runs; `make up` or `make run` starts it")
    return 0


def _preflight(asked: argparse.Namespace) -> int:
    from flows.preflight import NotReady, require_ready

    known = running().get("world")
    if known is not None and known.url:
        os.environ["PLUMBLINE_WORLD_URL"] = known.url
    try:
        require_ready(_settings(asked))
    except NotReady as error:
        console.print(str(error), style="red", markup=False)
        return 1
    _say("everything that this run needs is there")
    return 0


def _run(asked: argparse.Namespace) -> int:
    settings = _settings(asked)
    before = running()
    parameters = {
        "recipe": asked.recipe, "profile": asked.profile, "seeds": asked.seeds, "overrides": _overrides(asked),
    }  # fmt: skip
    try:
        services = up(settings.world, _say)
        os.environ.update(services.environment())
        from flows.follow import follow  # Prefect reads the environment as it is imported

        return follow(parameters, settings, services, console)
    except KeyboardInterrupt:
        if not before:
            _say("interrupted: stopping what this command started")
            down(_say)
        return 130


def _say(text: str) -> None:
    console.print(text, markup=False, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
