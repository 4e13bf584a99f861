"""The scheduler of a virtual clock: one device runs at a time, so that a seed gives the same run again.

1. The platform settles, and every answer that it released arrives at its device.
2. Of the devices that are ready (their sleep is over, their answer has come) the next one, in an order drawn from the
   seed, the instant, the device and how often it went on, goes on until it sleeps, the platform holds its request, or
   it ends. Back to 1.
3. Is none ready, the clock moves to the next instant at which anything is due. Back to 1.

Nothing is guessed: the platform says what it holds (`core.holding`).
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable
from functools import partial

from labkit.core.chance import shuffled
from labkit.core.clock import Clock, Timer
from labkit.core.holding import Holding
from labkit.fleet.pace import Paced


class Simulated:
    """The pace of a fleet on a virtual clock.

    settle: returns once the platform is idle; seed: of the order in which devices go on.
    """

    def __init__(
        self, clock: Clock, holding: Holding, settle: Callable[[], Awaitable[object]], seed: int
    ) -> None:
        self.clock = clock
        self._holding = holding
        self._settle = settle
        self._seed = seed
        self._devices: dict[str, Paced] = {}  # by actor
        self._first: dict[str, asyncio.Future[None]] = {}  # the first turns of those that have not begun
        self._left: set[str] = (
            set()
        )  # of these, held requests were given up, and the platform may not know yet
        self._timers: dict[str, Timer] = {}
        self._counts: dict[str, int] = {}  # how often each went on
        self._ready: list[tuple[int, int, int, str, asyncio.Future[None]]] = []
        self._entries = itertools.count()
        self._held: set[str] = set()  # their requests are held, or were released and are not answered yet
        self._released: set[str] = set()  # of those: the answer is on its way
        self._running: str | None = None
        self._event: asyncio.Future[None] | None = None  # something that `play` waits for has happened
        self._paused = False
        self._stopped = False

    # --- what devices call

    def join(self, device: Paced) -> None:
        self._devices[device.actor] = device
        self._counts.setdefault(device.actor, 0)
        self._first[device.actor] = self._make_ready(device)

    def leave(self, device: Paced) -> None:
        actor = device.actor
        self._devices.pop(actor, None)
        self._first.pop(actor, None)
        if actor in self._held:
            self._left.add(actor)
        if (timer := self._timers.pop(actor, None)) is not None:
            timer.cancel()
        self._held.discard(actor)
        self._released.discard(actor)
        self._rests(actor)
        self._tell()

    async def begin(self, device: Paced) -> None:
        await self._first.pop(device.actor)

    async def sleep_until(self, device: Paced, when: float) -> None:
        actor = device.actor
        if when <= self.clock.now():
            turn = self._make_ready(device)
        else:
            turn = asyncio.get_running_loop().create_future()
            self._timers[actor] = self.clock.call_at(when, partial(self._woken, device, turn))
        self._rests(actor)
        await turn

    def waits_for_turn(self, device: Paced) -> bool:
        return device.actor in self._held

    async def turn(self, device: Paced) -> None:
        actor = device.actor
        self._held.discard(actor)
        self._released.discard(actor)
        turn = self._make_ready(device)
        self._tell()
        await turn

    # --- the run

    async def play(self, until: float | None) -> bool:
        """As Pace.play; who calls it drives the clock."""
        assert until is not None
        reached = False
        stop = self._holding.watch(self._began, self._ended)
        try:
            while not self._stopped:
                await self._quiet()
                if self._paused and not self._stopped:
                    await self._wait()
                elif self._ready:
                    await self._go_on()
                elif not self.clock.step(until):
                    reached = True
                    break
        finally:
            stop()
        return reached

    def stop(self) -> None:
        self._stopped = True
        self._tell()

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._tell()

    async def close(self, devices: list[Paced]) -> None:
        for device in devices:
            await self._holding.released(device.actor)
        await self._settle()

    async def _quiet(self) -> None:
        """Return once the platform is idle and every answer that it released has arrived."""
        await self._settle()
        while (self._released or self._left) and not self._stopped:
            while self._left:
                await self._holding.released(self._left.pop())
            if self._released:
                await self._wait()
            await self._settle()

    async def _go_on(self) -> None:
        """Let the next device go on, until it rests."""
        *_, actor, turn = heapq.heappop(self._ready)
        if turn.done():  # the device was ended
            return
        self._counts[actor] += 1
        self._running = actor
        turn.set_result(None)
        while self._running is not None:
            await self._wait()

    async def _wait(self) -> None:
        self._event = asyncio.get_running_loop().create_future()
        await self._event

    def _tell(self) -> None:
        event, self._event = self._event, None
        if event is not None and not event.done():
            event.set_result(None)

    def _rests(self, actor: str) -> None:
        if self._running == actor:
            self._running = None
            self._tell()

    def _make_ready(self, device: Paced, turn: asyncio.Future[None] | None = None) -> asyncio.Future[None]:
        """Give the device a place among those that are ready; it goes on when the future is done."""
        if turn is None:
            turn = asyncio.get_running_loop().create_future()
        instant = self.clock.micros()
        drawn = shuffled(self._seed, instant, device.number, self._counts[device.actor])
        heapq.heappush(self._ready, (drawn, device.number, next(self._entries), device.actor, turn))
        return turn

    def _woken(self, device: Paced, turn: asyncio.Future[None]) -> None:
        del self._timers[device.actor]
        self._make_ready(device, turn)

    # --- what the platform says

    def _began(self, actor: str) -> None:
        device = self._devices.get(actor)
        if device is None or not device.asking:
            return
        self._held.add(actor)
        self._released.discard(actor)
        device.wait_for_ever()
        self._rests(actor)

    def _ended(self, actor: str) -> None:
        if actor in self._held:
            self._released.add(actor)
