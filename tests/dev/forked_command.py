#!/usr/bin/env python
"""The command `labkit` in a process of a fork server (conformance/fork_server.py), which has imported it already.

Run as a program, it has the server fork, passes signals on, and ends as the forked process does. A start takes more
than a CPU second otherwise.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

ADDRESS = "LABKIT_TESTS_FORK_SERVER"  # environment variable with the address of the server; the command does not see it
RUN = "tests.dev.forked_command:run"  # for the server
PASSED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_THRESHOLD = (700, 10, 10)  # Python's default; the server changes it for all its processes


def run(arguments: list[str], _: object = None) -> None:
    """Run the command in this process. Raises SystemExit."""
    from labkit.cli import main

    gc.set_threshold(*_THRESHOLD)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # as with PYTHONUNBUFFERED
    sys.argv = ["labkit", *arguments]
    main(arguments, prog_name="labkit")


def main() -> int:
    """Run the command in a forked process. Returns its exit status, as of a shell."""
    from labkit.conformance.fork_server import start

    environment = {**os.environ}
    address = environment.pop(ADDRESS)
    process = start(
        *(address, RUN, sys.argv[1:], [0, 1, 2]),
        environment=environment,
        folder=os.getcwd(),  # noqa: PTH109 - Path.cwd() imports more
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
