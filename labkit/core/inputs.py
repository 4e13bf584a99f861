"""Bytes, connections and ends of connections that have arrived at the lab, and that its loop has not processed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from labkit.core.activity import Activity

# Turns of the event loop: it reads what has arrived, runs the tasks that waited for it, and sends their answers.
TURNS = 3


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
        return self._activity.arrived > 0 or any(source() for source in self._sources)

    async def settle(self) -> bool:
        """Return whether the platform has done all that it can without new bytes from a client."""
        begun = self._activity.begun
        for _ in range(TURNS):
            unread = self.unread()
            await asyncio.sleep(0)
            if unread:
                return False
        return not (self.unread() or self._activity.running) and self._activity.begun == begun
