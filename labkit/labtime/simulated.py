"""Scheduler of a fleet on a virtual clock: it runs one device at a time, so that a seed reproduces a run.

1. Wait until the platform is idle and every answer that it released has arrived at its device.
2. Fire the timers that are due at this instant, one at a time. Back to 1 after each.
3. Run one of the ready devices (whose sleep is over or whose answer has arrived), in an order drawn from the seed, the
   instant, the device and the number of its turns, until it sleeps, the platform delays its request, or it ends. Back
   to 1. A device receives an answer only after the effects of its request are over.
4. If no device is ready, move the clock to the next instant at which a timer is due. Back to 1.

Step 1 is skipped after a turn that caused nothing but answered requests of the device, and after a timer that only woke
a device. Delayed requests are reported by the platform (holding.py).
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import Counter
from collections.abc import Coroutine
from functools import partial
from typing import Any

from labkit.core.chance import extend_hash, seeded_hash
from labkit.core.errors import LabError
from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock
from labkit.labtime.device_scheduler import Ordered, ScheduledDevice
from labkit.labtime.holding import Holding

COUNTED_FROM = 10_000  # turns at one instant, after which the turns of each device are counted
STILL = (
    "the device goes on again and again at one instant, so that lab time stands still: sleep longer than 0"
)
RUNAWAY_TURNS = 1_000  # further turns of one device at that instant, after which it is stopped


class Order:
    """Random order of the devices that are ready at one instant, fixed by a seed.

    A hash of each device alone: a stream of numbers would give all another order as soon as one more device draws.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._instant = self._drawn = -1  # an instant, and the hash for its devices

    def draw(self, instant: int, number: int, turns: int) -> int:
        """Return the place of a device. instant: in microseconds; turns: number of its turns so far."""
        if instant != self._instant:
            self._instant, self._drawn = instant, seeded_hash(self._seed, instant)
        return extend_hash(extend_hash(self._drawn, number), turns)


class Simulated:
    """Scheduler that runs one device at a time on a virtual clock.

    activity: of the platform; seed: of the order in which devices run.
    """

    def __init__(self, clock: Clock, holding: Holding, activity: Activity, seed: int) -> None:
        self.clock = clock
        self._holding = holding
        self._activity = activity
        self._until_settled = activity.idle
        self._order = Order(seed)
        self._devices: dict[str, ScheduledDevice] = {}  # by actor
        self._first: dict[
            str, asyncio.Future[None]
        ] = {}  # first turns of devices that have not begun, by actor
        self._left: dict[str, int] = {}  # by actor: delayed requests once the platform has seen the departure
        self._asleep: dict[str, asyncio.Future[None]] = {}  # by actor: the turn that ends its sleep
        self._cancelled: dict[str, asyncio.Future[None]] = {}  # by actor: the turn that cancels its task
        self._counts: dict[str, int] = {}  # number of turns, by actor
        self._ready: list[tuple[int, int, int, str, asyncio.Future[None]]] = []
        self._entries = itertools.count()
        self._delayed_as: dict[str, str] = {}  # device with a delayed or just released request → its actor
        self._held: dict[str, int] = {}  # number of these requests, by the actor of the request
        self._running: str | None = None
        self._begun = self._answered = 0  # works, and its answered requests, before this turn
        self._event: asyncio.Future[None] | None = None  # completed when `run` has to look again
        self._woke = False  # whether the last timer only woke a device, or a program that caused nothing
        self._turns = 0  # of devices, at this instant
        self._excess: Counter[str] = Counter()  # by actor: turns at this instant beyond COUNTED_FROM
        self._paused = False
        self._stopped = False
        self._until = 0.0  # lab time that the clock may reach now: the end of the run
        self._reached = False

    # --- called by devices

    def join(self, device: ScheduledDevice) -> None:
        self._devices[device.actor] = device
        self._counts.setdefault(device.actor, 0)
        self._first[device.actor] = self._make_ready(device)

    def leave(self, device: ScheduledDevice) -> None:
        actor = device.actor
        self._devices.pop(actor, None)
        self._first.pop(actor, None)
        held_as = self._delayed_as.get(actor)
        if held_as is not None:
            count = self._holding.count(held_as)
            # The platform still counts the request, until it notices that its client has gone: `_left` is the count
            # from which on it has, and no turn begins before.
            if count >= self._held[held_as]:  # else the platform has released it already
                self._left[held_as] = self._left.get(held_as, count) - 1
            self._forget_delay(actor)
        for turns in (self._asleep, self._cancelled):
            if (turn := turns.pop(actor, None)) is not None:
                turn.cancel()  # of an abandoned task, or of one that has ended
        self._end_turn(actor)
        self._notify()

    def cancel(self, device: ScheduledDevice, life: asyncio.Task[None]) -> None:
        """Cancel the task in a turn of its own, so that its cleanup is awaited."""
        turn = self._cancelled[device.actor] = self._make_ready(device)
        turn.add_done_callback(lambda turn: None if turn.cancelled() else life.cancel())

    async def begin(self, device: ScheduledDevice) -> None:
        await self._first.pop(device.actor)

    async def sleep_until(self, device: ScheduledDevice, when: float) -> None:
        actor = device.actor
        if device.asking or actor in self._asleep:
            raise self._overlap_error(actor)
        timer = None
        if when <= self.clock.now():
            turn = self._make_ready(device)
        else:
            turn = asyncio.get_running_loop().create_future()
            timer = self.clock.call_at(when, partial(self._woken, device, turn))
        self._asleep[actor] = turn
        self._end_turn(actor)
        try:
            await turn
        finally:
            if self._asleep.get(actor) is turn:
                del self._asleep[actor]
            if timer is not None:
                timer.cancel()

    def awake(self, device: ScheduledDevice) -> None:
        if device.actor in self._asleep:
            raise self._overlap_error(device.actor)

    def waits_for_turn(self, device: ScheduledDevice) -> bool:
        return device.actor in self._delayed_as or self._has_effects(device)

    async def turn(self, device: ScheduledDevice) -> None:
        if device.actor not in self._delayed_as:  # its turn continues once the effects are over
            # not `idle`: the devices' scheduler asks programs itself, once between two turns
            await self._activity.ended()
            self._mark_work(device)
            return
        self._forget_delay(device.actor)
        turn = self._make_ready(device)
        self._notify()
        await turn

    # --- the run

    def run(self, until: float | None) -> Coroutine[Any, Any, bool]:
        """Run the devices and drive the clock: see DeviceScheduler.run."""
        assert until is not None
        self._until = until
        return self._conduct()  # not awaited here, since each turn would pass through this coroutine too

    def stop(self) -> None:
        self._stopped = True
        self._notify()

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._notify()

    async def close(self) -> None:
        stop = self._holding.watch(lambda _: None, self._ended)
        try:
            while self._is_awaiting():
                await self._wait_for_event()
        finally:
            stop()
        await self._activity.ended()

    async def _conduct(self) -> bool:
        """Let one piece of work after the other continue, each once the platform is idle, until the end.

        Return whether lab time reached the end of the run.
        """
        stop = self._holding.watch(self._began, self._ended)
        quiet = False
        try:
            while not (self._stopped or self._reached):
                if not quiet:
                    await self._until_settled()
                    if self._is_awaiting():
                        await self._quiet()
                quiet = False
                if self._paused and not self._stopped:
                    await self._wait_for_event()
                elif self._ready and not self.clock.due:
                    quiet = await self._run_next()
                elif self._fire():
                    quiet = self._woke  # no timer of the platform fired
                else:
                    await self._reach_end()
        finally:
            stop()
        return self._reached

    def _fire(self) -> bool:
        """Fire the next timer due until `_until`. Return whether there was one."""
        before = self.clock.now()
        self._woke = False
        fired = self.clock.step(self._until)
        if fired and self.clock.quiet:
            self._woke = True
        if self.clock.now() > before:
            self._turns = 0
        return fired

    async def _reach_end(self) -> None:
        """End the run: lab time has reached `_until`."""
        self._reached = True

    async def _quiet(self) -> None:
        """Return once the platform is idle and every answer that it released has arrived."""
        await self._until_settled()
        while self._is_awaiting() and not self._stopped:
            await self._wait_for_event()
            await self._until_settled()

    def _is_awaiting(self) -> bool:
        """Return whether a released answer has not arrived, or the platform has not seen the departure of a device."""
        if not self._left and not self._held:  # the usual case
            return False
        count = self._holding.count
        self._left = {actor: most for actor, most in self._left.items() if count(actor) > most}
        return bool(self._left) or any(held > count(actor) for actor, held in self._held.items())

    async def _run_next(self) -> bool:
        """Run the next device for one turn. Return whether the platform is idle afterwards."""
        *_, actor, turn = heapq.heappop(self._ready)
        device = self._devices.get(actor)
        if turn.done() or device is None:  # the device has ended
            return False
        self._mark_work(device)
        self._counts[actor] += 1
        self._turns += 1
        if self._turns > COUNTED_FROM and self._is_runaway(actor):
            self._running = actor
            turn.set_exception(LabError(STILL))
        else:
            self._start_turn(actor, turn)
        while (
            self._running is not None and not self._stopped
        ):  # the device may wait for real time, or for ever
            await self._wait_for_event()
        return not self._has_effects(device) and device.connected and not self._activity.running

    def _mark_work(self, device: ScheduledDevice) -> None:
        """Store the counts of works and answers, with which `_has_effects` compares."""
        self._begun, self._answered = self._activity.begun, device.answered

    def _has_effects(self, device: ScheduledDevice) -> bool:
        """Return whether more work began than answered requests of the device.

        A request that is delayed, raises an event with a handler or opens a connection begins more work.
        """
        return self._activity.begun - self._begun != device.answered - self._answered

    def _is_runaway(self, actor: str) -> bool:
        if self._turns == COUNTED_FROM + 1:
            self._excess.clear()
        self._excess[actor] += 1
        return self._excess[actor] > RUNAWAY_TURNS

    def _start_turn(self, actor: str, turn: asyncio.Future[None]) -> None:
        self._running = actor
        turn.set_result(None)

    async def _wait_for_event(self) -> None:
        self._event = asyncio.get_running_loop().create_future()
        await self._event

    def _notify(self) -> None:
        event, self._event = self._event, None
        if event is not None and not event.done():
            event.set_result(None)

    def _end_turn(self, actor: str) -> None:
        if self._running == actor:
            self._running = None
            self._notify()

    def _make_ready(self, device: Ordered, turn: asyncio.Future[None] | None = None) -> asyncio.Future[None]:
        """Queue a turn of the device, which runs when the future is done."""
        if turn is None:
            turn = asyncio.get_running_loop().create_future()
        drawn = self._draw(device)
        heapq.heappush(self._ready, (drawn, device.number, next(self._entries), device.actor, turn))
        return turn

    def _draw(self, device: Ordered) -> int:
        """Return the place of a device among those that are ready at this instant."""
        return self._order.draw(self.clock.micros(), device.number, self._counts[device.actor])

    def _overlap_error(self, actor: str) -> LabError:
        """Return the error of a device that acts in one task while it sleeps in another, and raise it in the latter."""
        error = LabError("a device does one thing at a time: await each before the next")
        turn = self._asleep.get(actor)
        if turn is not None and not turn.done():
            turn.set_exception(error)
        return error

    def _woken(self, device: ScheduledDevice, turn: asyncio.Future[None]) -> None:
        self._woke = True
        self._make_ready(device, turn)

    # --- called by the platform

    def _began(self, actor: str) -> None:
        device = None if self._running is None else self._devices.get(self._running)
        if device is None or not device.asking:
            return  # delayed again after its release, or no request of a device
        # A request whose credential the platform does not know acts as the product.
        if actor not in (device.asks_as, device.asks_as.partition("/")[0]):
            return
        self._delayed_as[device.actor] = actor
        self._held[actor] = self._held.get(actor, 0) + 1
        device.disable_timeout()
        self._end_turn(device.actor)

    def _ended(self, actor: str) -> None:
        self._notify()

    def _forget_delay(self, device: str) -> None:
        """Forget the delayed request of a device, if it has one."""
        actor = self._delayed_as.pop(device, None)
        if actor is not None:
            self._held[actor] -= 1
            if not self._held[actor]:
                del self._held[actor]
