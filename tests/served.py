"""`labkit` as a separate process, forked from one that has imported it, since a start takes a second otherwise.

It can be signalled and killed like any other; only the exit handlers of Python are not run.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection

from tests.guard import PATIENCE

FORKS = multiprocessing.get_context("forkserver")
PRELOAD = (
    *("labkit.cli", "labkit.core.process", "labkit.log", "labkit.platform", "uvloop"),
    *("labkit.bench.calls", "labkit.bench.fleet_load", "labkit.bench.simulated"),
    *("distributed", "labkit.fleet.workers"),  # a session's dask workers are forked from the same process
)
FORKS.set_forkserver_preload([*PRELOAD])


class Served:
    """A process that runs a command of `labkit`, and its output. It has to be ended, or killed.

    ignored: signals that it inherits as ignored.
    """

    def __init__(self, *arguments: str, ignored: Sequence[signal.Signals] = ()) -> None:
        out, out_writes = FORKS.Pipe(duplex=False)
        err, err_writes = FORKS.Pipe(duplex=False)
        given = (arguments, tuple(ignored), out_writes, err_writes)
        self._process = FORKS.Process(target=_run, args=given, daemon=True)
        self._process.start()
        self.stdout, self.stderr = (os.fdopen(os.dup(each.fileno()), encoding="utf-8") for each in (out, err))
        for each in (out, err, out_writes, err_writes):
            each.close()

    @property
    def returncode(self) -> int | None:
        """Return code as of `subprocess.Popen`: None while it runs, -9 if it was killed."""
        return self._process.exitcode

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    def communicate(self) -> tuple[str, str]:
        """Wait for its end; return its output since it was last read, of standard output and of standard error."""
        self._process.join(PATIENCE)
        assert self.returncode is not None, "it does not end"
        printed = tuple("" if each.closed else each.read() for each in (self.stdout, self.stderr))
        for each in (self.stdout, self.stderr):
            each.close()
        return printed[0], printed[1]


def _run(
    arguments: tuple[str, ...], ignored: tuple[signal.Signals, ...], out: Connection, err: Connection
) -> None:
    from labkit.cli import main

    for ignore in ignored:
        signal.signal(ignore, signal.SIG_IGN)
    for number, each in enumerate((out, err), 1):
        os.dup2(each.fileno(), number)
        each.close()
    main(arguments, prog_name="labkit")
