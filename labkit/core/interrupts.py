"""SIGINT and SIGTERM as KeyboardInterrupt, whatever signal handling the process inherited."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
REPEATED = 1.0  # real seconds in which further signals belong to the first: `timeout` sends two of each


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt in the main thread on SIGINT and on SIGTERM.

    A shell starts a background job of a script with SIGINT ignored, and Python then leaves it ignored. Further signals
    within a second of the first raise nothing, so that they do not abort a clean shutdown. Does nothing in another
    thread, where Python allows no handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last = float("-inf")

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before > REPEATED:
            raise KeyboardInterrupt

    replaced = {each: signal.signal(each, interrupt) for each in SIGNALS}
    try:
        yield
    finally:
        for each, handler in replaced.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)


@contextmanager
def interrupts() -> Iterator[list[KeyboardInterrupt]]:
    """Provide a list of the interrupts that SIGINT raises in the block, which is in the main thread.

    Python ignores one that is raised in a callback of a weak reference or in `__del__`: only the list has it.
    """
    came: list[KeyboardInterrupt] = []
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        yield came
        return

    def keep(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except KeyboardInterrupt as interrupt:
            came.append(interrupt)
            raise

    signal.signal(signal.SIGINT, keep)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, handler)
