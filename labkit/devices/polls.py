"""Long polls in progress, and the rule for the datapoint that answers each (document 1, Long polling).

A poll without a time is answered by a datapoint written after its arrival, or recorded for a later second. A
poll that names a second S is answered by the earliest datapoint later than S or, before that, by the value of S
itself, which a write may have replaced since the client received it. A datapoint recorded ahead answers when
its second comes. A datapoint that answers several waiting polls is sent to all of them.

Only the value of S itself is in question; later ones always answer. A connection remembers for each alias of a
device the second and the number of the last value sent (`devices.deliveries`). If that second is S, only a
newer value answers. Otherwise the value answers unless it counts as seen (`devices.seen`), because it

- answered a poll that named another time or none, or
- was confirmed: a further request came on that connection, which had not begun to arrive before the answer was
  sent, or the client itself ended the connection in order (FIN, or TLS close_notify), or
- answered five polls that named S.

An end by the server confirms nothing: `Connection: close`, a keep-alive timeout, a restart. Neither does a
reset of the connection, nor silence. The client whose answer is lost asks again with S, and gets the value
again.

A client that sends each Last-Modified back can still miss

- a value whose answer is lost five times,
- on a new connection: a value that was sent to another client which polls the alias,
- behind a proxy that shares connections: a value that was sent to another client over the same one,
- a value whose answer is sent just as the client gives up and ends its connection in order,
- the value of a second that it chose itself, once that counts as seen.

It can get a value again where it ends its connections by a reset, leaves their end to the server or changes
between several, and after an unclean restart.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from labkit.devices.seen import Key
from labkit.devices.state import AnswerCondition, State, Stored
from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock, Timer
from labkit.labtime.holding import Holding
from labkit.labtime.story_work import held_as


@dataclass(eq=False, slots=True)
class Poll:
    """A waiting long poll.

    since: the second (Unix) after which a datapoint answers; live: whether the request named no time, so that `since`
    is the time of its arrival; last: number of the value of that second that was last sent on its connection, if any;
    held_as: its name in `core.holding` while it waits; number: larger than that of each poll before it; until: lab time
    at which it ends without a datapoint, None before it waits.
    """

    key: Key
    since: int
    live: bool
    last: int | None = None
    number: int = 0
    waiting: bool = False
    held_as: str = ""
    until: float | None = None
    future: asyncio.Future[Stored | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def actor(self) -> str:
        """The device, as the journal names it."""
        product, identity, _ = self.key
        return f"{product}/{identity}"

    def is_answered_by(self, fresh: Stored, written: bool) -> bool:
        """Return whether a newly stored datapoint answers the poll. written: by a write, not with a recorded time."""
        if self.live and written:
            return True
        timestamp = fresh.point.timestamp
        if timestamp != self.since or self.live:
            return timestamp > self.since
        return self.last is None or fresh.number > self.last


NUMBER = attrgetter("number")


class Polls:
    """All waiting long polls. Waiting is no activity: the lab counts as settled.

    waiting: the polls by device alias; empty while there are none, so that `wake` need not be called; number: of the
    newest poll.
    """

    def __init__(self, clock: Clock, activity: Activity, holding: Holding, state: State) -> None:
        self._clock = clock
        self._activity = activity
        self._holding = holding
        self._state = state
        self.waiting: dict[Key, list[Poll]] = {}
        self.number = 0
        self._open: list[Poll] = []  # by number
        self._watchers: tuple[tuple[Callable[[Key], object], Callable[[Key], object]], ...] = ()
        self._ahead: dict[Key, Timer] = {}  # until the next datapoint that was recorded ahead
        self._looking: dict[Key, set[asyncio.Task[None]]] = {}  # for all polls of an alias
        self._held: set[asyncio.Future[None]] = set()  # waits for one more request

    def count(self, product: str, identity: str, alias: str) -> int:
        """Return the number of requests that wait for this alias."""
        return len(self.waiting.get((product, identity, alias), ()))

    def after(self, number: int, most: int) -> list[Poll]:
        """Return the open polls with higher numbers, oldest first, at most so many."""
        begin = bisect_right(self._open, number, key=NUMBER)
        return self._open[begin : begin + most]

    def keys(self) -> list[Key]:
        """Return the device aliases that requests wait for."""
        return list(self.waiting)

    def __len__(self) -> int:
        return sum(map(len, self.waiting.values()))

    async def wait_for_count(self, product: str, identity: str, alias: str, count: int) -> None:
        """Return once at least `count` requests wait for this alias."""
        while self.count(product, identity, alias) < count:
            await self.wait_for_next()

    async def wait_for_next(self) -> None:
        """Return once one more request waits."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._held.add(future)
        try:
            await future
        finally:
            self._held.discard(future)

    def is_newer(self, product: str, identity: str, alias: str, number: int) -> bool:
        """Return whether a poll of this alias waits that is newer than that of a number."""
        return any(each.number > number for each in self.waiting.get((product, identity, alias), ()))

    def watch(self, begun: Callable[[Key], object], ended: Callable[[Key], object]) -> Callable[[], None]:
        """Call functions with the alias of each poll that begins and that ends, until the returned one is called."""
        self._watchers = (*self._watchers, (begun, ended))

        def stop() -> None:
            self._watchers = tuple(each for each in self._watchers if each != (begun, ended))

        return stop

    def open(self, key: Key, since: int | None, last: int | None = None) -> Poll:
        """Register a poll: from `since` (Unix seconds), or from this moment. last: as in Poll."""
        self.number += 1
        poll = Poll(key, self._clock.seconds() if since is None else since, since is None, last, self.number)
        self.waiting.setdefault(key, []).append(poll)
        self._open.append(poll)
        for begun, _ in self._watchers:
            begun(key)
        for future in self._held:
            if not future.done():
                future.set_result(None)
        return poll

    def close(self, poll: Poll) -> None:
        """Remove a poll, answered or not."""
        waiting = self.waiting[poll.key]
        waiting.remove(poll)
        del self._open[bisect_left(self._open, poll.number, key=NUMBER)]
        for _, ended in self._watchers:
            ended(poll.key)
        if not waiting:
            del self.waiting[poll.key]
            if (timer := self._ahead.pop(poll.key, None)) is not None:
                timer.cancel()

    async def find_stored(self, poll: Poll) -> Stored | None:
        """Return a stored datapoint that answers the poll, if any."""
        [found], ahead = await self._state.due(poll.key, _sought([poll]), self._clock.seconds())
        self._expect(poll.key, ahead)
        return found

    async def wait(self, poll: Poll, until: float, actor: str | None = None) -> Stored | None:
        """Return the datapoint that answers the poll; None when lab time reaches `until` or the poll is ended.

        actor: that waits, by default the device.
        """
        if poll.future.done():
            return poll.future.result()
        if until <= self._clock.now():  # a timer would wait for a virtual clock to move
            return None
        poll.until = until
        timer = self._clock.call_at(until, lambda: self.end(poll))
        poll.waiting = True
        poll.held_as = held_as(actor or poll.actor)
        self._holding.begin(poll.held_as)
        try:
            return await poll.future
        finally:
            timer.cancel()
            if poll.waiting:  # not answered: the client went away
                poll.waiting = False
                self._holding.end(poll.held_as)

    def end(self, poll: Poll) -> None:
        """End a poll without a datapoint, unless it has one already."""
        self._answer(poll, None)

    def wake(self, product: str, identity: str, stored: Iterable[Stored], written: bool) -> None:
        """Answer the polls that wait for these datapoints of a device, which were stored just now.

        written: at their own time, not recorded.
        """
        if not self.waiting:
            return
        fresh: dict[Key, list[Stored]] = {}
        for each in stored:
            key = (product, identity, each.point.alias)
            if key in self.waiting:
                fresh.setdefault(key, []).append(each)
        now = self._clock.seconds()
        for key, several in fresh.items():
            several.sort(key=lambda each: each.point.timestamp)
            present = [each for each in several if each.point.timestamp <= now]
            timer = self._ahead.get(key)
            if key in self._looking or (timer is not None and timer.when <= self._clock.now()):
                self._look_for_all(key, present, written)  # an earlier datapoint may be due
            else:
                for poll in self.waiting[key]:
                    self._give(poll, None, present, written)
            if present != several:
                self._expect(key, several[len(present)].point.timestamp)

    def _expect(self, key: Key, timestamp: int | None) -> None:
        """Schedule the answer of the polls of an alias for the time of a datapoint recorded ahead, if there is one."""
        if timestamp is None or key not in self.waiting:
            return
        timer = self._ahead.get(key)
        if timer is not None:
            if timer.when <= timestamp:
                return
            timer.cancel()
        self._ahead[key] = self._clock.call_at(timestamp, lambda: self._look_for_all(key))

    def _look_for_all(self, key: Key, fresh: Sequence[Stored] = (), written: bool = False) -> None:
        if (timer := self._ahead.pop(key, None)) is not None:
            timer.cancel()
        self._activity.begin()
        task = asyncio.get_running_loop().create_task(self._answer_all(key, fresh, written))
        looking = self._looking.setdefault(key, set())
        looking.add(task)

        def done(task: asyncio.Task[None]) -> None:
            looking.discard(task)
            if not looking and self._looking.get(key) is looking:
                del self._looking[key]
            self._activity.end()

        task.add_done_callback(done)

    async def _answer_all(self, key: Key, fresh: Sequence[Stored], written: bool) -> None:
        polls = list(self.waiting.get(key, ()))
        found, ahead = await self._state.due(key, _sought(polls), self._clock.seconds())
        for poll, stored in zip(polls, found, strict=True):
            self._give(poll, stored, fresh, written)
        self._expect(key, ahead)

    def _give(self, poll: Poll, found: Stored | None, fresh: Sequence[Stored], written: bool) -> None:
        """Answer a poll with the earlier of the found and the first matching fresh datapoint (sorted by time), if any.

        A fresh datapoint counts even where another poll got it, or it was replaced, since it was stored.
        """
        match = next((each for each in fresh if poll.is_answered_by(each, written)), None)
        if found is None or (match is not None and match.point.timestamp < found.point.timestamp):
            found = match
        if found is not None:
            self._answer(poll, found)

    def _answer(self, poll: Poll, stored: Stored | None) -> None:
        if poll.future.done():
            return
        if poll.waiting:  # the request counts as pending from here on, before its task runs
            poll.waiting = False
            self._holding.end(poll.held_as)
        poll.future.set_result(stored)


def _sought(polls: Iterable[Poll]) -> list[AnswerCondition]:
    return [AnswerCondition(poll.since, not poll.live, poll.last) for poll in polls]
