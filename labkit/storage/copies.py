"""Copies of the lab's database, which threads read while the event loop continues.

A copy is made in pieces: SQLite's backup runs in a thread, and copies its next pages only when the loop grants
them, at a moment without a transaction. So the loop is blocked for one piece at a time, and a copy contains
only committed data. Where the database is in memory, each write restarts the backup; pieces then grow, at most
to the whole.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

PIECE = 128  # pages that are copied at once, which blocks the loop for about 0.2 ms
GROWTH = 4  # factor of a piece for each restart of the backup
PATIENCE = 5.0  # seconds of real time in which a stopped copy releases the database


class StoppedError(Exception):
    """Raised in the thread of a copy that was stopped."""


class _BackupRestartedError(Exception):
    """Raised in the thread of a copy when a write has restarted its backup."""


class Copy:
    """A copy of a database in a thread of its own, used for one function at a time.

    in_memory: whether the copy is in memory; otherwise it is an unnamed temporary file, with a small cache in memory.
    version: of the data that it contains; None until it is filled.
    """

    def __init__(self, in_memory: bool) -> None:
        # SQLite asks the authorizer only when it compiles a statement, so compiled ones are not cached.
        self.raw = sqlite3.connect(
            ":memory:" if in_memory else "",
            check_same_thread=False,
            cached_statements=0,
            isolation_level=None,
        )
        self.version: int | None = None
        self.stopped = False
        self._grants = threading.Semaphore(0)
        self._steps = threading.Semaphore(0)
        self._filled = threading.Event()
        self._filled.set()
        self._granted = -1

    def stop(self) -> None:
        """Abort the thread's work with StoppedError. Afterwards the copy cannot be used."""
        self.stopped = True
        self._grants.release()
        with suppress(sqlite3.ProgrammingError):  # it is closed already
            self.raw.interrupt()

    def wait(self) -> None:
        """Return once the thread has released the source database."""
        self._filled.wait(PATIENCE)

    def close(self) -> None:
        """Free the copy, in a thread: a large one takes a while."""
        threading.Thread(target=self.raw.close, name="labkit copy", daemon=True).start()

    def begin(self) -> None:
        """Announce a call of `fill` in a thread."""
        self._filled.clear()

    def fill(self, source: sqlite3.Connection, ask: Callable[[], object]) -> None:
        """Copy `source`; `ask` makes the loop call `grant` soon. Call it in a thread. Raises StoppedError."""

        pages, left = PIECE, math.inf

        def next_piece() -> None:
            ask()
            self._grants.acquire()
            if self.stopped:
                raise StoppedError

        def progress(status: int, remaining: int, _: int) -> None:
            nonlocal left
            self._steps.release()
            if status == sqlite3.SQLITE_DONE:
                return
            if remaining >= left:
                raise _BackupRestartedError
            left = remaining
            next_piece()

        try:
            while self.version is None:
                next_piece()
                with suppress(_BackupRestartedError):
                    source.backup(self.raw, pages=pages, progress=progress, sleep=0.001)
                    self.version = self._granted
                pages, left = pages * GROWTH, math.inf
        finally:
            self._filled.set()
            self._steps.release()  # also where a step ended without a progress report

    def grant(self, version: int) -> None:
        """Let the thread copy a piece, and return once it has. Call it on the loop, without an open transaction.

        version: of the database; after the last piece it is the version of the copy.
        """
        if not self.stopped and not self._filled.is_set():
            self._granted = version
            self._grants.release()
            self._steps.acquire()


async def in_thread(function: Callable[[], T]) -> T:
    """Return the result of a function that runs in a daemon thread of its own.

    The function continues after its caller is cancelled.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if result.done():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        outcome: tuple[T | None, BaseException | None]
        try:
            outcome = (function(), None)
        except BaseException as error:  # noqa: BLE001  the caller gets it
            outcome = (None, error)
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, name="labkit copy", daemon=True).start()
    return await result
