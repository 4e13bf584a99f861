"""Program of a worker process, started by worker.py.

It reads pickles from its standard input: first a function, then items. For each item it writes a `WorkerReply` to its
standard output. What the function prints goes to standard error. The process ends when its standard input does, also
within an item, so that none is left behind when the process that started it dies.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import IO, Any

from labkit.core.errors import LabError
from labkit.core.interrupts import SIGNALS
from labkit.core.process import serve_for_long


@dataclass(frozen=True, slots=True)
class WorkerReply:
    """Reply of a worker to its function, and to each item.

    result, error: pickled; error is None if the function returned; traceback: as text; seconds: real time of the call.
    """

    result: bytes = b""
    error: bytes | None = None
    traceback: str = ""
    seconds: float = 0.0


def main() -> None:
    """Call the function for each item until standard input ends."""
    requests, replies = _private_streams()
    for each in SIGNALS:  # for the process that started this one, which then ends it
        signal.signal(each, signal.SIG_IGN)
    received: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, received), daemon=True).start()
    function, reply = _load(received.get())
    _send(replies, reply)
    while function is not None:
        _send(replies, call(function, received.get()))
    os._exit(1)


def call(function: Callable[[Any], object], item: bytes) -> WorkerReply:
    """Call a function with a pickled item, and return its result or error."""
    began = time.perf_counter()
    try:
        result = function(pickle.loads(item))
        seconds = time.perf_counter() - began
        return WorkerReply(_pickled_result(result), seconds=seconds)
    except (Exception, SystemExit) as error:  # noqa: BLE001  of any kind: it is the caller's
        return WorkerReply(
            error=_pickled_error(error),
            traceback="".join(traceback.format_exception(error)),
            seconds=time.perf_counter() - began,
        )


def _load(data: bytes) -> tuple[Callable[[Any], object] | None, WorkerReply]:
    """Return the function, and the reply that says whether it can be called."""
    try:
        function: Callable[[Any], object] = pickle.loads(data)
    except Exception as error:  # noqa: BLE001  unpickling a user's function may raise anything
        return None, WorkerReply(error=_pickled_error(error), traceback=traceback.format_exc())
    serve_for_long()
    return function, WorkerReply()


def _private_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Return standard input and output, and replace them for all else in this process."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def _receive(requests: IO[bytes], received: SimpleQueue[bytes]) -> None:
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            received.put(pickle.load(requests))
    os._exit(0)


def _send(replies: IO[bytes], reply: WorkerReply) -> None:
    try:
        pickle.dump(reply, replies)
        replies.flush()
    except OSError:  # the process that started this one has ended
        os._exit(0)


def _pickled_result(result: object) -> bytes:
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(result)
    except Exception as error:
        raise LabError(f"the result cannot travel to another process: {error}") from error
    return data


def _pickled_error(error: BaseException) -> bytes:
    """Return an error pickled, or a LabError with its text where it could not be unpickled."""
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(error)
        pickle.loads(data)
    except Exception:  # noqa: BLE001  a user's class may raise anything
        return pickle.dumps(LabError(f"{type(error).__name__}: {error}"))
    return data
