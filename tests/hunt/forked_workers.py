"""Worker processes of hunts, forked from one that has imported labkit; each takes a CPU second to start otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from labkit.conformance.fork_server import ForkedProcess, start
from labkit.hunt.workers import worker, worker_process

RUN = f"{__name__}:run"  # for the server


class Forked:
    """The part of `subprocess.Popen` that a hunt's worker uses (labkit/hunt/workers/worker.py)."""

    address = ""  # of the fork server

    def __init__(
        self, command: Sequence[str], stderr: IO[bytes], env: Mapping[str, str], **others: object
    ) -> None:
        assert list(command) == [sys.executable, "-P", "-c", worker.PROGRAM]
        assert others == {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
        reads, stdin = os.pipe()
        stdout, writes = os.pipe()
        try:
            self._process: ForkedProcess = start(
                *(self.address, RUN, None, [reads, writes, stderr.fileno()]),
                environment=env,
                folder=str(Path.cwd()),
                at_exit=True,
            )
        finally:
            os.close(reads)
            os.close(writes)
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        self.pid = self._process.pid
        self.poll, self.wait = self._process.poll, self._process.wait


def run(_: object, __: object) -> None:
    """Run a worker in this process."""
    sys.path[:] = [*os.environ["PYTHONPATH"].split(os.pathsep), *sys.path]
    worker_process.main()


def popen(address: str) -> Any:
    """Return the replacement of `subprocess` in a hunt's worker. address: of the fork server."""
    made = type("ForkedFrom", (Forked,), {"address": address})
    return type("Forks", (), {"Popen": made, "PIPE": subprocess.PIPE})
