"""Limit of real time for a call in this process, which is interrupted as by Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager

from labkit.control.clock import number_of
from labkit.core.errors import LabError
from labkit.hunt.workers.worker import WorkerError

GRACE = 10.0  # real seconds in which an interrupted call has to end


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Interrupt the body if it takes too long, and raise WorkerError then.

    seconds: of real time, None for no limit. Python interrupts its main thread alone, and only where SIGINT raises
    KeyboardInterrupt there. In another thread, and if the body does not end after its interrupt, it goes on, and a line
    on standard error says so.
    """
    if seconds is None:
        yield
        return
    limit = _Limit(seconds)
    try:
        try:
            yield
        finally:
            limit.end()
    except KeyboardInterrupt as error:
        limit.end()
        if not limit.has_interrupted or isinstance(
            error.__context__, KeyboardInterrupt
        ):  # Ctrl-C while it ends
            raise
        raise WorkerError(f"ended after its limit of {seconds:g} s", late=True) from None


def checked_limit(within: object) -> float | None:
    """Return a limit of real time in seconds, None for none. Raises LabError for another value."""
    if within is None:
        return None
    seconds = number_of(within, "within")
    if seconds <= 0:
        raise LabError(f"within: expected a number of seconds above 0, not {within!r}")
    return seconds


class _Limit:
    """Thread that interrupts the main thread after a time."""

    def __init__(self, seconds: float) -> None:
        self.has_interrupted = False
        self._seconds = seconds
        self._is_main = threading.current_thread() is threading.main_thread()
        self._lock = threading.Lock()  # so that no interrupt comes after the call
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name="labkit time limit", daemon=True).start()

    def end(self) -> None:
        """Leave the call alone from now on."""
        with self._lock:
            self._ended.set()

    def _watch(self) -> None:
        if self._ended.wait(self._seconds):
            return
        with self._lock:
            if self._ended.is_set():
                return
            if self._is_main and callable(signal.getsignal(signal.SIGINT)):
                self.has_interrupted = True
                _interrupt()
        if self.has_interrupted and self._ended.wait(GRACE):
            return
        sys.stderr.write(
            f"labkit: a play goes on after its limit of {self._seconds:g} s, and this process cannot end it: "
            "press Ctrl-C, or use workers=1, which plays in a process that can be ended\n"
        )


def _interrupt() -> None:
    if os.name == "posix":  # a signal ends a wait of the thread, too
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
    else:
        interrupt_main()
