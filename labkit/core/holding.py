"""What waits for lab time or for somebody else's write: requests that a lab holds, by actor.

While something is held it is no activity, so the lab counts as settled. Who drives the clock learns from here,
without guessing, that a request will not be answered before time moves or somebody writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from labkit.core.activity import Activity

Listener = Callable[[str], object]


class Holding:
    """Counts what is held. Actors are named as in the journal: `product/identity`."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._counts: dict[str, int] = {}
        self._listeners: tuple[tuple[Listener, Listener], ...] = ()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    def begin(self, actor: str) -> None:
        """A piece of work of this actor waits from now on; `end` has to follow."""
        self._counts[actor] = self._counts.get(actor, 0) + 1
        for began, _ in self._listeners:
            began(actor)
        self._activity.end()

    def end(self, actor: str) -> None:
        """It goes on, or was given up."""
        self._activity.begin()
        left = self._counts[actor] - 1
        if left:
            self._counts[actor] = left
        else:
            del self._counts[actor]
        for _, ended in self._listeners:
            ended(actor)
        if not left and self._waiting:
            self._tell(actor)

    def count(self, actor: str) -> int:
        """How much of this actor is held."""
        return self._counts.get(actor, 0)

    def __len__(self) -> int:
        return sum(self._counts.values())

    def watch(self, began: Listener, ended: Listener) -> Callable[[], None]:
        """Call `began` and `ended` with the actor, until the function that is returned is called."""
        pair = (began, ended)
        self._listeners += (pair,)

        def stop() -> None:
            self._listeners = tuple(each for each in self._listeners if each is not pair)

        return stop

    async def released(self, actor: str) -> None:
        """Return once nothing of this actor is held."""
        while self.count(actor):
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((actor, future))
            await future

    def _tell(self, actor: str) -> None:
        waiting, self._waiting = self._waiting, []
        for each, future in waiting:
            if each != actor:
                self._waiting.append((each, future))
            elif not future.done():
                future.set_result(None)
