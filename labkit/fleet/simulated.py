"""The scheduler of a virtual clock: one device runs at a time, so that a seed gives the same run again.

1. The platform settles, and every answer that it released arrives at its device.
2. Whatever is due at this instant happens, one after the other. Back to 1 after each.
3. Of the devices that are ready (their sleep is over, their answer has come) the next one, in an order drawn from the
   seed, the instant, the device and how often it went on, goes on until it sleeps, the platform holds its request, or
   it ends. Back to 1. What its requests cause is over before it has their answers.
4. Is none ready, the clock moves to the next instant at which anything is due. Back to 1.

There is nothing to settle where all that began since a device went on are requests of its own that were answered, or
what was due is a device. Nothing is guessed: the platform says what it holds (`core.holding`).
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import Counter
from functools import partial

from labkit.core.activity import Activity
from labkit.core.chance import extend_hash, seeded_hash
from labkit.core.clock import Clock
from labkit.core.errors import LabError
from labkit.core.holding import Holding
from labkit.fleet.pace import Paced

CROWD = 10_000  # turns at one instant, from which on who has how many of them is counted
STILL = (
    "the device goes on again and again at one instant, so that lab time stands still: sleep longer than 0"
)
RUNAWAY = 1_000  # further turns of one device, which is not going to let lab time go on


class Simulated:
    """The pace of a fleet on a virtual clock.

    activity: of the platform; seed: of the order in which devices go on.
    """

    def __init__(self, clock: Clock, holding: Holding, activity: Activity, seed: int) -> None:
        self.clock = clock
        self._holding = holding
        self._activity = activity
        self._seed = seed
        self._drawn_at = self._drawn = -1  # for an instant, what was drawn of all its devices
        self._devices: dict[str, Paced] = {}  # by actor
        self._first: dict[str, asyncio.Future[None]] = {}  # the first turns of those that have not begun
        self._left: dict[str, int] = {}  # by actor: how many the platform may hold once it knows who left
        self._asleep: dict[str, asyncio.Future[None]] = {}  # by actor: the turn that ends its sleep
        self._cancelled: dict[
            str, asyncio.Future[None]
        ] = {}  # by actor: the turn in which its life is cancelled
        self._counts: dict[str, int] = {}  # how often each went on
        self._ready: list[tuple[int, int, int, str, asyncio.Future[None]]] = []
        self._entries = itertools.count()
        self._as: dict[
            str, str
        ] = {}  # devices whose request is held, or released and on its way: as which actor
        self._held: dict[str, int] = {}  # by the actor that is asked as: how many those are
        self._running: str | None = None
        self._begun = self._answered = 0  # pieces of work, and its requests, before what it does now
        self._event: asyncio.Future[None] | None = None  # something that `play` waits for has happened
        self._woke = False  # did the last timer wake a device?
        self._turns = 0  # of devices, at this instant
        self._crowd: Counter[str] = Counter()  # by actor: turns at this instant, beyond a crowd's
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
        held_as = self._as.get(actor)
        if held_as is not None:
            count = self._holding.count(held_as)
            if count >= self._held[held_as]:  # else its answer is on its way: the platform has let go
                self._left[held_as] = self._left.get(held_as, count) - 1
            self._let_go(actor)
        for turns in (self._asleep, self._cancelled):
            if (turn := turns.pop(actor, None)) is not None:
                turn.cancel()  # of a task that the device has left behind, or of one that ended by itself
        self._rests(actor)
        self._tell()

    def cancel(self, device: Paced, life: asyncio.Task[None]) -> None:
        """What the device still does is awaited, as all that it does."""
        turn = self._cancelled[device.actor] = self._make_ready(device)
        turn.add_done_callback(lambda turn: None if turn.cancelled() else life.cancel())

    async def begin(self, device: Paced) -> None:
        await self._first.pop(device.actor)

    async def sleep_until(self, device: Paced, when: float) -> None:
        actor = device.actor
        if device.asking or actor in self._asleep:
            raise self._does_two_things(actor)
        timer = None
        if when <= self.clock.now():
            turn = self._make_ready(device)
        else:
            turn = asyncio.get_running_loop().create_future()
            timer = self.clock.call_at(when, partial(self._woken, device, turn))
        self._asleep[actor] = turn
        self._rests(actor)
        try:
            await turn
        finally:
            if self._asleep.get(actor) is turn:
                del self._asleep[actor]
            if timer is not None:
                timer.cancel()

    def awake(self, device: Paced) -> None:
        if device.actor in self._asleep:
            raise self._does_two_things(device.actor)

    def waits_for_turn(self, device: Paced) -> bool:
        return device.actor in self._as or self._causes_more(device)

    async def turn(self, device: Paced) -> None:
        if device.actor not in self._as:  # it goes on, once what it caused is over
            await self._activity.idle()
            self._look_at(device)
            return
        self._let_go(device.actor)
        turn = self._make_ready(device)
        self._tell()
        await turn

    # --- the run

    async def play(self, until: float | None) -> bool:
        """As Pace.play; who calls it drives the clock."""
        assert until is not None
        reached = quiet = False
        stop = self._holding.watch(self._began, self._ended)
        try:
            while not self._stopped:
                if not quiet:
                    await self._activity.idle()
                    if self._due():
                        await self._quiet()
                quiet = False
                if self._paused and not self._stopped:
                    await self._wait()
                elif self._ready and not self.clock.due:
                    quiet = await self._go_on()
                elif self._fire(until):
                    quiet = self._woke  # nothing of the platform's was due
                else:
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

    async def close(self) -> None:
        stop = self._holding.watch(lambda _: None, self._ended)
        try:
            while self._due():
                await self._wait()
        finally:
            stop()
        await self._activity.idle()

    def _fire(self, until: float) -> bool:
        """Fire the next timer that is due before `until`, if there is one."""
        before = self.clock.now()
        self._woke = False
        fired = self.clock.step(until)
        if self.clock.now() > before:
            self._turns = 0
        return fired

    async def _quiet(self) -> None:
        """Return once the platform is idle and every answer that it released has arrived."""
        await self._activity.idle()
        while self._due() and not self._stopped:
            await self._wait()
            await self._activity.idle()

    def _due(self) -> bool:
        """Is an answer on its way, or has the platform yet to learn that a device has left?"""
        if not self._left and not self._held:  # as nearly always
            return False
        count = self._holding.count
        self._left = {actor: most for actor, most in self._left.items() if count(actor) > most}
        return bool(self._left) or any(held > count(actor) for actor, held in self._held.items())

    async def _go_on(self) -> bool:
        """Let the next device go on, until it rests. Did it leave nothing behind that could still go on?"""
        *_, actor, turn = heapq.heappop(self._ready)
        device = self._devices.get(actor)
        if turn.done() or device is None:  # the device was ended
            return False
        self._look_at(device)
        self._counts[actor] += 1
        self._turns += 1
        if self._turns > CROWD and self._runs_away(actor):
            self._running = actor
            turn.set_exception(LabError(STILL))
        else:
            self._let(actor, turn)
        while self._running is not None and not self._stopped:  # it may wait for real time, or for ever
            await self._wait()
        return not self._causes_more(device) and device.connected and not self._activity.running

    def _look_at(self, device: Paced) -> None:
        """What goes on has begun before what this device does from now on."""
        self._begun, self._answered = self._activity.begun, device.answered

    def _causes_more(self, device: Paced) -> bool:
        """Began more than requests of the device that were answered? One that is held, raises events that somebody
        handles, or opens a connection begins more than itself.
        """
        return self._activity.begun - self._begun != device.answered - self._answered

    def _runs_away(self, actor: str) -> bool:
        if self._turns == CROWD + 1:
            self._crowd.clear()
        self._crowd[actor] += 1
        return self._crowd[actor] > RUNAWAY

    def _let(self, actor: str, turn: asyncio.Future[None]) -> None:
        self._running = actor
        turn.set_result(None)

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
        if instant != self._drawn_at:
            self._drawn_at, self._drawn = instant, seeded_hash(self._seed, instant)
        drawn = extend_hash(extend_hash(self._drawn, device.number), self._counts[device.actor])
        heapq.heappush(self._ready, (drawn, device.number, next(self._entries), device.actor, turn))
        return turn

    def _does_two_things(self, actor: str) -> LabError:
        """What a device is told that sleeps in one task and goes on in another: in both, for either may be its life."""
        error = LabError("a device does one thing at a time: await each before the next")
        turn = self._asleep.get(actor)
        if turn is not None and not turn.done():
            turn.set_exception(error)
        return error

    def _woken(self, device: Paced, turn: asyncio.Future[None]) -> None:
        self._woke = True
        self._make_ready(device, turn)

    # --- what the platform says

    def _began(self, actor: str) -> None:
        device = None if self._running is None else self._devices.get(self._running)
        if device is None or not device.asking or device.asks_as != actor:
            return  # one that was released is held again, or it is no request of a device
        self._as[device.actor] = actor
        self._held[actor] = self._held.get(actor, 0) + 1
        device.wait_for_ever()
        self._rests(device.actor)

    def _ended(self, actor: str) -> None:
        self._tell()

    def _let_go(self, device: str) -> None:
        """The request of a device is held no more, if it was."""
        actor = self._as.pop(device, None)
        if actor is not None:
            self._held[actor] -= 1
            if not self._held[actor]:
                del self._held[actor]
