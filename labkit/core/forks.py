"""Calls in forks of this process: each begins with a copy of all of its memory, and sends back what it returns.

Where the system can fork (`AVAILABLE`), a fork is there within milliseconds, however much memory the process has, since
the system copies a page only when it is changed.
"""

from __future__ import annotations

import gc
import os
import pickle
import selectors
import signal
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any, Generic, TypeVar

from labkit.core.errors import LabError, is_ours
from labkit.core.host_time import monotonic
from labkit.core.progress import period, tick

T = TypeVar("T")

AVAILABLE = hasattr(os, "fork") and sys.platform != "win32"
PIECE = 1024 * 1024
UNAVAILABLE = "this system cannot fork a process: use lab.snapshot() and lab.restore() instead"


@dataclass(frozen=True, slots=True)
class Ended(Generic[T]):
    """The end of a call. number: index of the call; error: why there is no result; seconds: real time that it took."""

    number: int
    result: T | None
    error: BaseException | None
    seconds: float


def call_in_forks(
    calls: Sequence[Callable[[], T]], *, workers: int, within: float | None = None
) -> Iterator[Ended[T]]:
    """Call each function in a fork of this process, and yield their ends as they occur.

    Results and exceptions are pickled. workers: most forks at one time; within: real seconds after which a fork is
    killed, None for no limit. The forks of a caller that stops iterating are killed. Raises LabError where the system
    cannot fork.
    """
    if not AVAILABLE:
        raise LabError(UNAVAILABLE)
    waiting = deque(enumerate(calls))
    running: set[_Fork] = set()
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    fork = _Fork(*waiting.popleft(), others=running)
                    running.add(fork)
                    selector.register(fork.pipe, selectors.EVENT_READ, fork)
                limits = [] if (pause := period()) is None else [pause]
                if within is not None:
                    limits.append(max(min(each.began for each in running) + within - monotonic(), 0))
                ready = selector.select(min(limits, default=None))
                tick()
                for key, _ in ready:
                    fork = key.data
                    if fork.read():
                        selector.unregister(fork.pipe)
                        running.remove(fork)
                        yield fork.end()
                for fork in [each for each in running if within and monotonic() - each.began >= within]:
                    fork.kill(f"was ended after {within:g} s of real time")
        finally:
            for fork in running:
                fork.kill("")
                fork.end()


class _Fork:
    """A fork that runs a call. others: those that run already, whose pipes it does not need."""

    def __init__(self, number: int, call: Callable[[], Any], others: set[_Fork]) -> None:
        self.number = number
        self.began = monotonic()
        self._reason = ""  # why it was killed
        self._data = bytearray()
        self.pipe, writing = os.pipe()
        for stream in (sys.stdout, sys.stderr):  # else the fork would write once more what waits in them
            with suppress(Exception):
                stream.flush()
        try:
            with warnings.catch_warnings():
                # A process with other threads: none of them holds a lock that the fork's call needs.
                warnings.simplefilter("ignore", DeprecationWarning)
                self.pid = os.fork()
        except BaseException:
            os.close(self.pipe)
            os.close(writing)
            raise
        if self.pid == 0:
            gc.freeze()  # a collection would copy the memory of all objects
            _run(call, writing, [self.pipe, *(each.pipe for each in others)])
        os.close(writing)

    def read(self) -> bool:
        """Read what has arrived; return whether that was all."""
        data = os.read(self.pipe, PIECE)
        self._data += data
        return not data

    def kill(self, reason: str) -> None:
        """Kill it with the processes that it has started."""
        self._reason = reason
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):  # it has not begun a session of its own yet
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> Ended[Any]:
        """Wait for the end of the process, and return how the call ended."""
        os.close(self.pipe)
        _, status = os.waitpid(self.pid, 0)
        seconds = monotonic() - self.began
        code = os.waitstatus_to_exitcode(status)
        if code or not self._data:
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
            return Ended(
                self.number, None, LabError(self._reason or f"its process ended with {how}"), seconds
            )
        result, error = result_of(bytes(self._data))
        return Ended(self.number, result, error, seconds)


def _run(call: Callable[[], Any], pipe: int, others: Sequence[int]) -> None:
    """In the fork: run the call, send its result or error, and end without the exit handlers of the other process."""
    code = 1
    try:
        os.setsid()  # so that it is killed with the processes that it starts, and not by Ctrl-C
        for each in others:
            os.close(each)
        data = outcome_of(call)
        view = memoryview(data)
        while view:
            view = view[os.write(pipe, view) :]
        code = 0
    except BaseException:  # noqa: BLE001  nobody else gets it
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(code)


def outcome_of(call: Callable[[], Any]) -> bytes:
    """Call a function, and return what it returns or raises, for `result_of` in another process."""
    try:
        result = call()
    except Exception as error:  # noqa: BLE001  the other process raises it
        return _failure(error)
    try:
        return pickle.dumps((result, None))
    except Exception as error:  # noqa: BLE001  pickle raises anything
        return _failure(
            LabError(
                f"a {type(result).__name__} cannot be sent to the other process ({error}): return plain data, such as "
                "numbers, texts, lists, dicts or a DataFrame"
            )
        )


def result_of(outcome: bytes) -> tuple[Any, Exception | None]:
    """Return the result and the error of a call in a fork of this process. outcome: from `outcome_of` there."""
    result, error = pickle.loads(outcome)
    return result, error


def _failure(error: Exception) -> bytes:
    """Return a pickled error, with its lines as a note; one that cannot be pickled as its text."""
    trace = walk_tb(error.__traceback__)
    outside = traceback.StackSummary.extract(each for each in trace if not is_ours(each[0]))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001  pickle raises anything
        error = LabError(f"{type(error).__name__}: {error}")
    if outside:
        error.add_note("in its process:\n" + "".join(outside.format()).rstrip())
    return pickle.dumps((None, error))
