#!/usr/bin/env python
"""The commands `labkit` and `pytest` in a process of a fork server (conformance/fork_server.py).

The server has imported labkit, which takes more than a CPU second. Run as a program with one of these names, this file
has it fork, passes signals on, and ends as the forked process does.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

ADDRESS = "LABKIT_TESTS_FORK_SERVER"  # environment variable with the address of the server
COMMANDS = ("labkit", "pytest")
RUN = "tests.dev.forked_command:run"  # for the server
PASSED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_THRESHOLD = (700, 10, 10)  # Python's default; the server changes it for all its processes


def link(folder: Path) -> None:
    """Create the commands in a folder."""
    for name in COMMANDS:
        (folder / name).symlink_to(__file__)


def run(arguments: list[str], _: object = None) -> None:
    """Run a command in this process. arguments: its name, then its arguments. Raises SystemExit."""
    gc.set_threshold(*_THRESHOLD)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # as with PYTHONUNBUFFERED
    sys.argv = arguments
    if arguments[0] == "pytest":
        import pytest

        from tests.forked import fork_from

        fork_from(os.environ[ADDRESS])  # workers of xdist
        sys.exit(pytest.console_main())
    from labkit.cli import main

    main(arguments[1:], prog_name=arguments[0])


def main() -> int:
    """Run the command in a forked process. Returns its exit status, as of a shell."""
    from labkit.conformance.fork_server import start

    process = start(
        *(os.environ[ADDRESS], RUN, [Path(sys.argv[0]).name, *sys.argv[1:]], [0, 1, 2]),
        environment=os.environ,
        folder=str(Path.cwd()),
        at_exit=True,
    )
    pid = process.pid
    for each in PASSED:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, lambda number, _: os.kill(pid, number))
    status = process.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
