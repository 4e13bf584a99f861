"""Worker process as its starter sees it: it calls one function with items, one after the other."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO

from labkit.core.errors import LabError
from labkit.hunt.workers import worker_process
from labkit.hunt.workers.worker_process import WorkerReply

STARTED = 120.0  # real seconds in which a process has to import labkit and the function
PROGRAM = f"from {worker_process.__name__} import main; main()"  # as __main__ its classes would be others
ATTEMPTS = 2  # processes that an item may lose
POSIX = os.name == "posix"


class WorkerError(LabError):
    """A worker process has ended before its reply. late: whether it was killed, since its time was over."""

    def __init__(self, text: str, *, late: bool = False) -> None:
        super().__init__(text)
        self.late = late


class Worker:
    """Process that calls a function with items. function: pickled by value (`pickled` of workers.py).

    It starts at once and imports what it needs in the background. It has its own session, so that an interrupt at the
    terminal does not reach it, and processes that the function starts are killed with it.
    """

    def __init__(self, function: bytes) -> None:
        self._printed: IO[bytes] = TemporaryFile()  # noqa: SIM115  closed in `close`
        self._lock = threading.Lock()
        self._waiting: object = None  # the call that waits for its reply
        self._late = False
        path = [each or os.getcwd() for each in sys.path]  # noqa: PTH109  as Python itself reads an empty entry
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._printed,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
                start_new_session=True,
            )
        except BaseException:
            self._printed.close()
            raise
        self._ready = False
        self._function = function

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """Whether it can be called."""
        return not self._late and self._process.poll() is None

    def call(self, item: bytes, within: float | None = None) -> WorkerReply:
        """Call the function with a pickled item, and return the reply.

        within: real seconds after which the process is killed. Raises WorkerError if the process has ended before its
        reply, LabError if it cannot call the function at all.
        """
        if not self._ready:
            try:
                reply = self._exchange(self._function, STARTED)
            except WorkerError as error:
                raise LabError(f"workers: no process of them starts: {error}") from None
            if reply.error is not None:
                raise LabError(f"workers: the function cannot travel: {pickle.loads(reply.error)}")
            self._ready = True
        return self._exchange(item, within)

    def kill(self) -> None:
        """Kill the process and those that it has started. A call that waits for it raises WorkerError."""
        with suppress(ProcessLookupError, PermissionError):
            if POSIX:
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def close(self) -> None:
        """Kill the process, and close its files. Not while a call waits."""
        self.kill()
        self._process.wait()
        for each in (self._process.stdin, self._process.stdout, self._printed):
            assert each is not None
            with suppress(OSError):  # bytes that the ended process has not read
                each.close()

    def _exchange(self, data: bytes, within: float | None) -> WorkerReply:
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        self._waiting = call = object()
        limit = threading.Timer(within or 0, self._end, [call])
        limit.daemon = True
        try:
            if within is not None:
                limit.start()
            pickle.dump(data, requests)
            requests.flush()
            reply: WorkerReply = pickle.load(replies)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise WorkerError(self._ending(within), late=self._late) from None
        finally:
            limit.cancel()
            with self._lock:
                self._waiting = None
        return reply

    def _end(self, call: object) -> None:
        """Kill the process if it still works on this call, whose time is over."""
        with self._lock:
            if self._waiting is call:
                self._late = True
                self.kill()

    def _ending(self, within: float | None) -> str:
        """Return how the process ended, with the last line that it printed."""
        self.kill()  # its reply was cut, while it may still run
        code = self._process.wait()
        if self._late:
            return f"ended after its limit of {within:g} s"
        self._printed.seek(0)
        lines = self._printed.read().decode(errors="replace").strip().splitlines()
        how = f"exit status {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        return f"its process ended with {how}{': ' + lines[-1] if lines else ''}"
