"""Bytes, connections and ends of connections that have arrived at the lab, and that its loop has not processed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from labkit.labtime.activity import Activity

# Turns of the event loop: it reads what has arrived, runs the tasks that waited for it, and sends their answers.
TURNS = 3
PIECES = 4  # of the backlog that run in one turn of the event loop


class Inputs:
    """Participant of the activity for what arrives from outside, asked only if there are others.

    activity: of the platform, which is asked only while it has no pending work.
    """

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._sources: list[Callable[[], bool]] = []

    def add(self, source: Callable[[], bool]) -> None:
        """Add a source. It returns whether something has arrived that the loop will read and has not read yet."""
        self._sources.append(source)

    def unread(self) -> bool:
        """Return whether something has arrived that the lab has not read, or read and not begun to handle."""
        if self._activity.arrived > 0:
            return True
        for source in self._sources:  # noqa: SIM110  half the time of any(…), in each turn of a program
            if source():
                return True
        return False

    async def settle(self) -> bool:
        """Return whether the platform has done all that it can without new bytes from a client."""
        begun = self._activity.begun
        for _ in range(TURNS):
            unread = self.unread()
            await asyncio.sleep(0)
            if unread:
                return False
        return not (self.unread() or self._activity.running) and self._activity.begun == begun


class Backlog:
    """Queue of work for connections whose clients have sent more than is handled at once.

    A few pieces of it run in each turn of the event loop, so that other connections need not wait for them, however
    much the clients send. A piece counts as pending work until it has begun.
    """

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._pieces: deque[Callable[[], object]] = deque()

    def add(self, piece: Callable[[], object]) -> None:
        """Call a function in a later turn of the event loop, after those that were added before."""
        if not self._pieces:
            asyncio.get_running_loop().call_soon(self._run)
        self._activity.begin()
        self._pieces.append(piece)

    async def turn(self) -> None:
        """Return when a piece that is added now would run."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def resume() -> None:
            if not future.done():
                future.set_result(None)

        self.add(resume)
        await future

    def _run(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(min(PIECES, len(self._pieces))):
            loop.call_soon(self._begin, self._pieces.popleft())
        if self._pieces:
            loop.call_soon(self._run)

    def _begin(self, piece: Callable[[], object]) -> None:
        try:
            piece()
        finally:
            self._activity.end()
