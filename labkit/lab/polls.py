"""Long polls of a device, and waits until the platform holds a number of them open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import CancelledError
from typing import Any, ParamSpec, TypeVar

from labkit.core.errors import LabError, tell_interrupt
from labkit.core.handle import Handle
from labkit.core.progress import PERIOD
from labkit.core.words import counted
from labkit.fleet.device import DeviceError, Point
from labkit.lab.arguments import unknown_resource
from labkit.lab.portal import Task
from labkit.lab.runtime import Runtime

P = ParamSpec("P")
T = TypeVar("T")


class DevicePolls:
    """Long polls of a device that handles have started, and waits for them."""

    def __init__(self, runtime: Runtime, product: str, identity: str) -> None:
        self.runtime = runtime
        self.product = product
        self.identity = identity
        self._polls: list[tuple[str, Task[Point | None]]] = []

    def does_clock_stand_still(self) -> bool:
        """Return whether the clock is virtual, and no story and no fleet's run moves it."""
        return self.runtime.story is None and not self.runtime.run(self.runtime.control.clock.state).moves

    def begin(
        self, alias: str, function: Callable[P, Awaitable[Point | None]], *args: P.args, **kwargs: P.kwargs
    ) -> HeldPoll:
        """Start a poll of an alias."""

        async def request() -> Point | None:
            return await self.runtime.asked(function, *args, **kwargs)

        self._polls = [each for each in self._polls if not each[1].done]
        task = self.runtime.begin(request)
        self._polls.append((alias, task))
        return HeldPoll(self, alias, task)

    def begin_and_wait(
        self, alias: str, function: Callable[P, Awaitable[Point | None]], *args: P.args, **kwargs: P.kwargs
    ) -> HeldPoll:
        """Start a poll like `begin`; return once the platform holds or has answered it, or a fault delays it.

        Raises DeviceError for a poll that is answered with 400, since its arguments are wrong.
        """
        newest = self.runtime.run(self.runtime.control.polls.newest)
        since = self.runtime.run(self.runtime.control.faults.count_started_delays)
        poll = self.begin(alias, function, *args, **kwargs)
        self.runtime.run(self._held_or_done, alias, newest, since, poll.task)
        if poll.done:
            error = poll.task.future.exception()
            if isinstance(error, DeviceError) and error.status == 400:
                raise error
        return poll

    async def held(self, alias: str, count: int) -> None:
        """Return once the platform holds `count` polls of this alias open."""
        await self.runtime.control.polls.wait_for_count(self.product, self.identity, alias, count)

    async def count(self, alias: str) -> int:
        """Return the number of polls of this alias that the platform holds open."""
        return await self.runtime.control.polls.count(self.product, self.identity, alias)

    async def reason(self, alias: str) -> str:
        """Return a sentence about the likely reason for which the platform holds too few polls of this alias."""
        control = self.runtime.control
        resources = (await control.products.get(self.product)).settings.resources
        if alias not in resources:
            return unknown_resource(alias, self.product, resources)
        named = await control.identities.all(self.product, self.identity)
        if all(each.identity != self.identity for each in named):
            return f"product {self.product!r} has no device {self.identity!r}, allow() or activate() adds it"
        if not (await control.clock.state()).moves:
            return (
                "begin one with start_poll(); the clock stands still, so that another client which waits for lab time "
                "before it polls needs lab.clock.advance()"
            )
        return "begin one with start_poll(), or give other clients longer: held(…, within=60)"

    async def held_count(self, alias: str) -> int:
        """Return the number of the device's requests that wait: polls of this alias, and requests that faults delay."""
        delayed = await self.runtime.control.faults.delayed_count(f"{self.product}/{self.identity}")
        return await self.count(alias) + delayed

    async def _held_or_done(self, alias: str, newest: int, since: int, task: Task[Point | None]) -> None:
        # not by their count: the lab may still hold an earlier poll whose client has gone
        held = self.runtime.control.polls.wait_for_newer(self.product, self.identity, newest, alias)
        waits = (held, task.ended(), self._delayed(since))
        tasks = {asyncio.ensure_future(each) for each in waits}
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in tasks:
            each.cancel()

    async def _delayed(self, since: int) -> None:
        """Return once a fault delays a request of this device. since: number of delays before."""
        faults = self.runtime.control.faults
        actor = f"{self.product}/{self.identity}"
        if not await faults.delayed_count(actor):
            await faults.wait_for_delay(actor, since)

    async def answered(self, alias: str, task: Task[Point | None]) -> None:
        """Return once a poll is answered. Raises LabError if only a clock that stands still could end the wait."""
        control = self.runtime.control
        while task in (under_way := self._under_way(alias)):
            if not (await control.clock.state()).moves:
                await control.lab.settle()
                under_way = self._under_way(alias)
                # If fewer requests wait than are in progress, an answer is in transit.
                if task in under_way and await self.held_count(alias) >= len(under_way):
                    raise LabError(
                        "the clock stands still, and nothing has answered this poll; use lab.clock.advance() or "
                        f"write(…) to {alias!r} first, then result()"
                    )
            if under_way:
                ended = [asyncio.ensure_future(each.ended()) for each in under_way]
                # in which the run that moves the clock may end
                await asyncio.wait(ended, timeout=PERIOD, return_when=asyncio.FIRST_COMPLETED)
                for each in ended:
                    each.cancel()

    def _under_way(self, alias: str) -> list[Task[Point | None]]:
        return [each for name, each in self._polls if name == alias and not each.done]

    def answer(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of any request. Raises LabError if it becomes a long poll that only the clock could end."""

        async def ask() -> T:
            return await self.runtime.asked(function, *args, **kwargs)

        return self.runtime.run(self._answer if self.runtime.story is None else _ask, ask)

    async def _answer(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        control = self.runtime.control
        if (await control.clock.state()).rate:
            return await ask()
        newest = await control.polls.newest()
        task = asyncio.ensure_future(ask())
        held = asyncio.ensure_future(control.polls.wait_for_newer(self.product, self.identity, newest))
        try:
            await asyncio.wait({task, held}, return_when=asyncio.FIRST_COMPLETED)
            while not task.done() and (await control.clock.state()).moves:
                await asyncio.wait({task}, timeout=PERIOD)
            if not task.done():
                raise LabError(
                    "the clock stands still, so this long poll would never end; use start_poll(), then "
                    "lab.clock.advance() or a write, then result()"
                )
            return await task
        finally:
            held.cancel()
            task.cancel()


async def _ask(ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return await ask()


class HeldPoll(Handle):
    """A long poll in progress: see `Device.start_poll`."""

    def __init__(self, waiting: DevicePolls, alias: str, task: Task[Point | None]) -> None:
        self._waiting = waiting
        self._alias = alias
        self.task = task

    @property
    def done(self) -> bool:
        """Whether the platform has answered."""
        return self.task.done

    def result(self) -> str | None:
        """Wait for the answer, and return the new value; None if no value came in time (304).

        Raises LabError if nothing has answered the poll and the clock stands still, since nothing would end the wait.
        """
        point = self.point()
        return None if point is None else point.value

    def point(self) -> Point | None:
        """Wait like `result`, and return the value with its alias and Last-Modified."""
        if self._waiting.runtime.story is not None:
            return self.task.result()
        try:
            self._waiting.runtime.run(self._waiting.answered, self._alias, self.task)
        except KeyboardInterrupt as interrupt:
            self.task.cancel()
            tell_interrupt(interrupt, f"stopped waiting for the poll of {self._alias!r}, which is ended")
            raise
        try:
            return self.task.result()
        except CancelledError:
            raise LabError(
                f"the poll of {self._alias!r} was ended before an answer came; start_poll() begins another"
            ) from None

    def __repr__(self) -> str:
        return "<poll: answered>" if self.done else "<poll: waits>"


class PollWait(Handle):
    """Wait until the platform keeps a number of long polls open: `result()` in a cell, `await` in async code."""

    def __init__(self, waiting: DevicePolls, alias: str, count: int, within: float) -> None:
        given: object = count
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise LabError(f"count: expected a number of polls, not {count!r}")
        self._waiting = waiting
        self._alias = alias
        self._count = count
        self._within = within

    @property
    def done(self) -> bool:
        """Whether the platform holds enough polls now."""
        return self._waiting.runtime.run(self._waiting.count, self._alias) >= self._count

    def result(self) -> None:
        """Return once the platform holds enough polls. Raises LabError after the wait's limit of real time."""
        try:
            self._waiting.runtime.run(self._held)
        except KeyboardInterrupt as interrupt:
            polls = f"{counted(self._count, 'poll')} of {self._waiting.identity}/{self._alias}"
            tell_interrupt(interrupt, f"stopped waiting for {polls}; those that the lab holds stay open")
            raise

    def __await__(self) -> Generator[Any, None, None]:
        """Wait like `result`, without blocking the loop. Cancellation ends the wait, in the lab as well."""
        return asyncio.wrap_future(self._waiting.runtime.begin(self._held).future).__await__()

    async def _held(self) -> None:
        try:
            async with asyncio.timeout(self._within):
                await self._waiting.held(self._alias, self._count)
        except TimeoutError:
            count = await self._waiting.count(self._alias)
            raise LabError(
                f"the lab holds {counted(count, 'poll')} of {self._waiting.identity}/{self._alias}, not {self._count}, "
                f"after {self._within:g} s; {await self._waiting.reason(self._alias)}"
            ) from None

    def __bool__(self) -> bool:
        """Raise LabError: a wait is neither true nor false, and an assert of it would always hold."""
        raise LabError(
            "held(…) is a wait, neither true nor false; use held(…).result() to wait, or held(…).done"
        )

    def __repr__(self) -> str:
        return "<held>" if self.done else "<not held yet>"
