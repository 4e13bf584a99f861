"""Refreshes of widgets on the kernel's thread, requested from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

EVERY = 0.25  # seconds of real time between two refreshes at least


class Updates:
    """Throttle that calls `refresh` on the loop of its creation, soon after `ask` is called on any thread.

    every: least seconds between two refreshes. A kernel runs its cells on that loop: while a cell computes, there is no
    refresh, and afterwards one. Without a running loop (no kernel), there is never one.
    """

    def __init__(self, refresh: Callable[[], object], every: float = EVERY) -> None:
        self._refresh = refresh
        self._every = every
        self._lock = threading.Lock()
        self._asked = False
        self._later = False
        self._last = 0.0
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    @property
    def live(self) -> bool:
        """Whether there is an open loop to refresh on."""
        return self._loop is not None and not self._loop.is_closed()

    def ask(self) -> None:
        """Request a refresh. Any thread may call this; it costs next to nothing if one is requested already."""
        with self._lock:
            if self._asked or self._loop is None:
                return
            self._asked = True
        try:
            self._loop.call_soon_threadsafe(self._schedule)
        except RuntimeError:  # the kernel ends
            self._loop = None

    def ask_after(self, seconds: float) -> None:
        """Request a refresh in `seconds`. Any thread may call this."""
        if (loop := self._loop) is not None and not self._later:
            self._later = True
            self.call(lambda: loop.call_later(seconds, self._ask_now))

    def call(self, function: Callable[[], object]) -> None:
        """Call a function once on the loop. Any thread may call this."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the kernel ends
                self._loop.call_soon_threadsafe(function)

    def _ask_now(self) -> None:
        self._later = False
        self.ask()

    def _schedule(self) -> None:
        assert self._loop is not None
        self._loop.call_at(max(self._loop.time(), self._last + self._every), self._now)

    def _now(self) -> None:
        assert self._loop is not None
        with self._lock:
            self._asked = False
        self._refresh()
        self._last = self._loop.time()
