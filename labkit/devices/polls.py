"""Who waits for the next datapoint (document 1, Long polling)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from labkit.core.activity import Activity
from labkit.core.clock import Clock
from labkit.devices.state import Datapoint

Key = tuple[str, str, str]  # product, identity, alias


@dataclass(eq=False, slots=True)
class Poll:
    """One waiting request.

    since: only datapoints later than this (Unix seconds) answer; live: the request named no such time, so any
    value written from now on answers, even within the same second.
    """

    since: int
    live: bool
    waiting: bool = False
    future: asyncio.Future[Datapoint | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Polls:
    """All waiting requests. While one waits it is no activity: the lab counts as settled."""

    def __init__(self, clock: Clock, activity: Activity) -> None:
        self._clock = clock
        self._activity = activity
        self._waiting: dict[Key, list[Poll]] = {}
        self._held: list[asyncio.Future[None]] = []

    def count(self, product: str, identity: str, alias: str) -> int:
        """How many requests wait for this alias."""
        return len(self._waiting.get((product, identity, alias), ()))

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def held(self, product: str, identity: str, alias: str, count: int) -> None:
        """Return once at least `count` requests wait for this alias."""
        while self.count(product, identity, alias) < count:
            await self.another()

    async def another(self) -> None:
        """Return once one more request waits."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._held.append(future)
        await future

    def open(self, key: Key, since: int | None) -> Poll:
        """Begin to wait: from `since` (Unix seconds), or from this moment."""
        poll = Poll(self._clock.seconds() if since is None else since, since is None)
        self._waiting.setdefault(key, []).append(poll)
        held, self._held = self._held, []
        for future in held:
            if not future.done():
                future.set_result(None)
        return poll

    def close(self, key: Key, poll: Poll) -> None:
        """Forget a poll, whatever became of it."""
        waiting = self._waiting[key]
        waiting.remove(poll)
        if not waiting:
            del self._waiting[key]

    async def wait(self, poll: Poll, until: float) -> Datapoint | None:
        """The datapoint that answers the poll, or None when lab time reaches `until`."""
        if poll.future.done():
            return poll.future.result()
        if until <= self._clock.now():  # a timer would wait for a virtual clock to move
            return None
        timer = self._clock.call_at(until, lambda: self._answer(poll, None))
        poll.waiting = True
        self._activity.end()
        try:
            return await poll.future
        finally:
            timer.cancel()
            if poll.waiting:  # not answered: the client went away
                poll.waiting = False
                self._activity.begin()

    def wake(self, product: str, identity: str, point: Datapoint, live: bool) -> None:
        """Answer the polls that wait for this datapoint. live: it was written now, not recorded."""
        for poll in self._waiting.get((product, identity, point.alias), ()):
            if point.timestamp > poll.since or (live and poll.live):
                self._answer(poll, point)

    def _answer(self, poll: Poll, point: Datapoint | None) -> None:
        if poll.future.done():
            return
        if poll.waiting:  # from here on there is work to do, though the request's task has yet to run
            poll.waiting = False
            self._activity.begin()
        poll.future.set_result(point)
