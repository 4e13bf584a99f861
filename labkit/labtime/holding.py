"""Counts of the requests that wait for lab time or for another client's write, by actor.

Waiting requests do not count as activity, so that the lab counts as settled. The driver of a virtual clock uses these
counts to find out that a request will not be answered before the time advances or a client writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from labkit.labtime.activity import Activity

Listener = Callable[[str], object]


class Holding:
    """Counts the waiting operations by actor, named as in the journal: `product/identity`."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._counts: dict[str, int] = {}
        self._listeners: tuple[tuple[Listener, Listener], ...] = ()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    def begin(self, actor: str) -> None:
        """Count an operation of this actor as waiting; `end` has to follow."""
        self._counts[actor] = self._counts.get(actor, 0) + 1
        for began, _ in self._listeners:
            began(actor)
        self._activity.end()

    def end(self, actor: str) -> None:
        """Count the wait as over: the operation resumes, or was cancelled."""
        self._activity.begin()
        left = self._counts[actor] - 1
        if left:
            self._counts[actor] = left
        else:
            del self._counts[actor]
        for _, ended in self._listeners:
            ended(actor)
        if not left and self._waiting:
            self._notify(actor)

    def count(self, actor: str) -> int:
        """Return the number of waiting operations of an actor."""
        return self._counts.get(actor, 0)

    def actors(self) -> list[str]:
        """Return the names of the actors with waiting operations, in the order in which they began to wait."""
        return list(self._counts)

    def __len__(self) -> int:
        return sum(self._counts.values())

    def watch(self, began: Listener, ended: Listener) -> Callable[[], None]:
        """Call `began` and `ended` with the actor of each wait, until the returned function is called."""
        pair = (began, ended)
        self._listeners += (pair,)

        def stop() -> None:
            self._listeners = tuple(each for each in self._listeners if each is not pair)

        return stop

    async def released(self, actor: str) -> None:
        """Return once no operation of this actor is waiting."""
        while self.count(actor):
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((actor, future))
            await future

    def _notify(self, actor: str) -> None:
        waiting, self._waiting = self._waiting, []
        for each, future in waiting:
            if each != actor:
                self._waiting.append((each, future))
            elif not future.done():
                future.set_result(None)
