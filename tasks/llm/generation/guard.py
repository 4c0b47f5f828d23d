"""Runs a server that dies with the process that started it, kill -9 of either included. A script, not a module.

    python guard.py COMMAND [ARGUMENT ...]

The guard leads a process group, starts the command in it and holds its standard input, which the starting process
keeps open for as long as it lives. When that ends, or the command does, the whole group is killed: a server has
workers of its own. Only the standard library is used, so that any interpreter can run it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def kill_group() -> None:
    """End the guard, the command and all that it started."""
    os.killpg(0, signal.SIGKILL)


def kill_group_at_end_of_input() -> None:
    """Wait for the starting process to go."""
    while os.read(0, 1):
        pass
    kill_group()


def main(command: list[str]) -> None:
    """Run the command to its end."""
    if os.getpgrp() != os.getpid():
        os.setsid()
    threading.Thread(target=kill_group_at_end_of_input, daemon=True).start()
    code = subprocess.Popen(command, stdin=subprocess.DEVNULL).wait()
    print(f"guard: the server ended with code {code}", file=sys.stderr, flush=True)
    kill_group()


if __name__ == "__main__":
    main(sys.argv[1:])
