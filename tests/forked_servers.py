"""The processes of `server_process` (lab/server_process.py), forked from one that has imported labkit.

A start of `labkit serve` takes more than a CPU second otherwise.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Self

from labkit.conformance.fork_server import start
from labkit.lab import server_process
from tests.dev import forked_command

STARTUP = f"import {__name__}\n{__name__}.install()\ndel tests\n"  # of a kernel


def install() -> None:
    """Have `server_process` fork, in this process."""
    names = {"PIPE": subprocess.PIPE, "TimeoutExpired": subprocess.TimeoutExpired}
    server_process.subprocess = SimpleNamespace(Popen=Forked, **names)  # type: ignore[assignment, attr-defined]


class Forked:
    """The part of `subprocess.Popen` that `server_process` uses, for `python -m labkit ARGUMENTS`."""

    def __init__(self, command: Sequence[str], stderr: IO[Any], **_: object) -> None:
        assert list(command[:3]) == [sys.executable, "-m", "labkit"]
        reads, writes = os.pipe()
        waits, self._input = os.pipe()
        try:
            self._process = start(
                os.environ[forked_command.ADDRESS],
                forked_command.RUN,
                command[2:],
                [waits, writes, stderr.fileno()],
                environment=os.environ,
                folder=str(Path.cwd()),
                at_exit=True,
            )
        finally:
            os.close(waits)
            os.close(writes)
        self.stdout = os.fdopen(reads)
        self.terminate, self.kill, self.wait = (
            self._process.terminate,
            self._process.kill,
            self._process.wait,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        os.close(self._input)
        self.wait()
