"""Processes that labkit itself starts, forked from one that has imported it: workers of hunts, and fork servers.

Each takes one to four CPU seconds to start otherwise.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from labkit.conformance import fork_loop, fork_server
from labkit.hunt.workers import worker, worker_process

WORKER = [sys.executable, "-P", "-c", worker.PROGRAM]
LOOP = [sys.executable, "-m", fork_loop.__name__]


class Forked:
    """The part of `subprocess.Popen` that labkit uses. address: of the fork server; stderr: a file."""

    def __init__(
        self,
        address: str,
        command: Sequence[str],
        *,
        stderr: IO[Any],
        env: Mapping[str, str] | None = None,
        **others: object,
    ) -> None:
        assert others == {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
        function, arguments = _function(list(command))
        reads, stdin = os.pipe()
        stdout, writes = os.pipe()
        try:
            self._process = fork_server.start(
                *(address, f"{__name__}:{function}", arguments, [reads, writes, stderr.fileno()]),
                environment=os.environ if env is None else env,
                folder=str(Path.cwd()),
                at_exit=True,
            )
        finally:
            os.close(reads)
            os.close(writes)
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        self.pid = self._process.pid
        self.poll, self.wait, self.kill = self._process.poll, self._process.wait, self._process.kill


def _function(command: list[str]) -> tuple[str, list[str]]:
    """Return the name of the function below that does what a command does, and its arguments."""
    if command == WORKER:
        return run_worker.__name__, []
    assert command[:3] == LOOP
    return run_loop.__name__, command[3:]


def run_worker(_: object, __: object) -> None:
    """Run a worker of a hunt in this process."""
    sys.path[:] = [*os.environ["PYTHONPATH"].split(os.pathsep), *sys.path]
    worker_process.main()


def run_loop(arguments: Sequence[str], _: object) -> None:
    """Run a fork server in this process."""
    fork_loop.serve(*arguments)


def forking(address: str) -> Any:
    """Return what replaces `subprocess` in a module of labkit. address: of the fork server."""
    return SimpleNamespace(
        Popen=partial(Forked, address), PIPE=subprocess.PIPE, TimeoutExpired=subprocess.TimeoutExpired
    )


def install(address: str) -> None:
    """Have labkit fork its workers and servers in this process."""
    for module in (worker, fork_server):
        module.subprocess = forking(address)  # type: ignore[attr-defined]
