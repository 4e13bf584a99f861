"""Calls that hold the lab's event loop, so that everything else in the lab waits for them."""

from __future__ import annotations

import asyncio
import math
import re
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple, TypeVar

from labkit.core.host_time import perf_counter
from labkit.core.record_lines import one_line

HELD = 0.05  # seconds of real time; a call that holds the loop for longer is slow
WARNED = 1.0  # from here on people notice, and a busy machine alone is seldom the cause
BEAT = 0.02  # seconds between two looks at the loop; less than HELD, so that only a held loop is late
REST = 50  # beats without a call, after which they stop until the next one
MOST = 1000  # calls kept; the oldest are removed
MOST_NAMES = 200  # warnings of a lab
LONGEST = 120  # characters of a name

T = TypeVar("T")


class SlowCall(NamedTuple):
    """A call that held the lab's event loop: nothing else in the lab went on meanwhile.

    name: of a request (`POST /onep:v1/stack/alias`), a service or control operation (`Tsdb.query`, `products.add`) or
    a handler; seconds: of real time; time: lab time at its end, in Unix seconds.
    """

    name: str
    seconds: float
    time: float


class SlowCalls:
    """The newest slow calls of a lab, oldest first.

    Calls are marked where they begin and end; a timer runs while there are any. A mark more than HELD after the mark or
    beat before it means that the loop was held in between: otherwise there would have been a beat. The clock is that
    of the host, so nothing of this is in the journal.

    since: `perf_counter` of the last mark or beat; name: of the call that runs; unread: sentences, one for each name.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        """Make an empty list. now: returns lab time in seconds."""
        self._now = now
        self.calls: deque[SlowCall] = deque(maxlen=MOST)
        self.unread: deque[str] = deque()
        self.since = -math.inf
        self.name: object = None
        self._names: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._quiet = 0

    def begin(self, name: object) -> object:
        """Mark the begin of a call; return the one that runs already, for `end`. name: a text or what has one."""
        now = perf_counter()
        if now - self.since > HELD:
            self.late(now, self.name)
        self.since, before, self.name = now, self.name, name
        return before

    def end(self, name: object, before: object = None) -> None:
        """Mark the end of a call. before: that which goes on."""
        now = perf_counter()
        if now - self.since > HELD:
            self.late(now, name)
        self.since, self.name = now, before

    async def run(self, name: object, function: Callable[[], Awaitable[T]]) -> T:
        """Return the result of an async function that goes on with a call in a task of its own.

        Only marks in that task name what holds the loop there: a beat may come between two tasks.
        """
        before = self.begin(name)
        try:
            return await function()
        finally:
            self.end(name, before)

    def late(self, now: float, name: object) -> None:
        """Add a call that has held the loop since the last mark; start the beats if there are none."""
        if self._timer is None:
            self._quiet = 0
            self._beat_later()
        elif text := _text(name):
            found = SlowCall(text, now - self.since, self._now())
            self.calls.append(found)
            if found.seconds >= WARNED and text not in self._names and len(self._names) < MOST_NAMES:
                self._names.add(text)
                held = f"held the lab's event loop for {1000 * found.seconds:.0f} ms"
                self.unread.append(f"{text} {held}: everything else in the lab waited; see lab.slow")

    def excuse(self) -> None:
        """Do not count what has held the loop since the last mark, such as an import that happens once in a process."""
        self.since = perf_counter()

    def rest(self) -> None:
        """End the beats until the next call; before the loop ends."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self.since = None, -math.inf

    def _beat_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(BEAT, self._beat, self.since)

    def _beat(self, before: float) -> None:
        self._quiet = self._quiet + 1 if self.since == before else 0
        self.end(self.name)
        if self._quiet < REST:
            self._beat_later()
        else:
            self.rest()


def _text(name: object) -> str:
    """Return the name of a call as text: `products.add` for a method of ProductsControl; empty for other functions."""
    while isinstance(name, partial):
        name = name.func
    if callable(name):
        kind, _, method = getattr(name, "__qualname__", "").rpartition("Control.")
        return f"{re.sub('(?<=[a-z])(?=[A-Z])', '_', kind).lower()}.{method}" if kind else ""
    text = "" if name is None else ".".join(name) if isinstance(name, tuple) else str(name)
    return one_line(text, LONGEST)
