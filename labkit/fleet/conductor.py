"""Scheduler of a whole story on a virtual clock: its threads and the devices of its fleets run one at a time.

As `fleet.simulated`, with these differences:

- A thread of the story counts as pending work while it runs (`core.custody`), so that nothing else runs and lab time
  stands still. Once it waits, or the platform holds its request, the others continue.
- When a call of a thread ends, and nothing else continued meanwhile, the thread continues once the effects of the call
  are over. Otherwise it waits for a turn, in an order drawn from the seed like those of devices.
- Each fleet is a part (`fleet.part`), which ends at its own time.
- A thread that only looks (`look`) continues between two instants, so that nothing else has another order without it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from heapq import heappop, heappush
from typing import Any, TypeVar

from labkit.core.activity import Activity
from labkit.core.chance import seeded_hash
from labkit.core.clock import Clock, Timer
from labkit.core.custody import CURRENT, LOOKS, Custody, Way
from labkit.core.errors import LabError
from labkit.core.holding import Holding
from labkit.core.journal import Journal
from labkit.core.turns import Turn
from labkit.fleet.pace import Ordered, Paced
from labkit.fleet.part import FleetPart
from labkit.fleet.plan import Failure
from labkit.fleet.simulated import Order
from labkit.fleet.story_waits import StoryWaits
from labkit.fleet.tellers import Background, DevicePeriod, Reached, Teller, TellerCall

T = TypeVar("T")

STUCK = "nothing is due any more that could end this wait: lab time would stand still for ever"
OVER = "the story is over"
LOOKING = 1_000_000  # numbers of threads that only look begin above it, so that other threads keep theirs


class Conductor(StoryWaits):
    """Scheduler of a story. journal: for errors; ways: of the story's requests, by port; seed: of the order."""

    def __init__(
        self,
        clock: Clock,
        holding: Holding,
        activity: Activity,
        seed: int,
        ways: dict[int, Way],
        journal: Journal,
    ) -> None:
        super().__init__(clock, holding, activity, seed)
        self.over = False
        self.parts: list[FleetPart] = []
        self._seed = seed
        self._ways = ways
        self._journal = journal
        self._orders: dict[str, Order] = {}  # by actor
        self._tellers: dict[str, Teller] = {}  # by actor
        self._later = 0  # functions for later so far
        self._timers: set[Timer] = set()  # of those that have not begun
        self._looks: list[tuple[float, int, Callable[[], object]]] = []  # to come: when, number, start
        self._looked = 0  # looks so far, done or to come
        self._idle: set[Custody] = set()  # of threads that wait for their next look
        self.fleet_devices: dict[str, DevicePeriod] = {}  # by actor
        self.crashes: list[tuple[str, Failure]] = []  # of behaviours, with the actor of the device
        self._background: dict[Background[Any], asyncio.Task[None]] = {}
        self._leaving: list[tuple[Custody, Reached]] = []  # waits for the end of a thread
        self._failed: BaseException | None = None
        self.main = self._teller(0)
        self.main.custody.take()
        self._conducting = asyncio.get_running_loop().create_task(self._conduct_story())

    # --- called by the threads of the story, on the loop

    async def call(self, teller: Teller, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of what a thread calls, when it is the thread's turn.

        Raises LabError if nothing can end its wait, and once the story is over; an error of a function for later.
        """
        custody, steps = teller.custody, self._steps
        if self.over:
            raise LabError(OVER)
        call = self._calls[custody] = TellerCall()
        CURRENT.set(custody)
        LOOKS.set(teller.looks)
        try:
            try:
                result = await work()
            except asyncio.CancelledError:
                custody.take()
                if call.error is None:  # the thread was interrupted
                    raise
                await self._continue(teller, steps)
                raise call.error from None
            except BaseException:
                await self._continue(teller, steps)
                raise
            if not call.looked:
                await self._continue(teller, steps)
        except asyncio.CancelledError:
            if call.error is None:
                raise
            raise call.error from None
        finally:
            del self._calls[custody]
        if teller is self.main:
            self._raise_failed()
        return result

    async def asked(self, turn: Turn, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of what a handler calls in a thread, on behalf of its turn."""
        custody = Custody(self._activity, self, self._ways, turn, held=True)
        call = self._calls[custody] = TellerCall()
        CURRENT.set(custody)
        try:
            return await work()
        except asyncio.CancelledError:
            if call.error is None:
                raise
            raise call.error from None
        finally:
            custody.take()
            del self._calls[custody]

    async def start(self, work: Callable[[], Awaitable[T]]) -> Background[T]:
        """Start a function, and return at once."""
        if self.over:
            raise LabError(OVER)
        begun: Background[T] = Background(self._custody())
        begun.custody.take()
        self._background[begun] = task = asyncio.get_running_loop().create_task(self._perform(begun, work))
        begun.cancel_with_future(task)
        return begun

    async def ended(self, begun: Background[Any]) -> None:
        """Return once a started function has ended."""
        custody = CURRENT.get()
        assert custody is not None
        if begun in self._background:
            reached: Reached = asyncio.get_running_loop().create_future()
            begun.waiting.append((custody, reached))
            await self._wait(custody, reached)

    async def ended_future(self, future: Future[Any]) -> None:
        """Return once a future is done that a thread of the story completes."""
        custody = CURRENT.get()
        assert custody is not None
        while not future.done():
            self._leaving.append((custody, reached := asyncio.get_running_loop().create_future()))
            await self._wait(custody, reached)

    async def later(self, when: float, start: Callable[[Teller], object]) -> None:
        """Start a thread of the story once lab time has reached `when` and it is the thread's turn.

        start: starts it; `leave` has to follow. Raises LabError for a time that the clock cannot reach.
        """
        now = self.clock.now()
        self.clock.check(max(when, now))
        self._later += 1
        teller = self._teller(-self._later)

        def due() -> None:
            self._timers.discard(timer)
            self._begin_teller(teller, start)

        if when > now:
            timer = self.clock.call_at(when, due)
            self._timers.add(timer)
        else:
            self._begin_teller(teller, start)

    async def look(self, when: float, start: Callable[[Teller], object]) -> None:
        """Start a thread at a lab time which looks at the story; `leave_story` has to follow.

        Then everything earlier is over, and nothing of that moment has happened. It keeps no wait of the story from an
        end, and takes no turn of others.
        """
        teller = self._teller(-LOOKING - self._looked)
        teller.looks = True

        def begin() -> None:
            teller.custody.take()
            start(teller)

        self._look_at(when, begin)

    async def next_look(self, when: float) -> None:
        """Return to a thread that looks at a lab time, as `look` describes it."""
        custody = CURRENT.get()
        assert custody is not None
        reached: Reached = asyncio.get_running_loop().create_future()
        self._look_at(when, partial(self._reach, custody, reached))
        self._idle.add(custody)
        try:
            await self._wait(custody, reached)
        finally:
            self._idle.discard(custody)
        self._calls[custody].looked = True

    def _look_at(self, when: float, start: Callable[[], object]) -> None:
        self._looked += 1
        heappush(self._looks, (when, self._looked, start))

    async def leave_story(self, teller: Teller, error: BaseException | None) -> None:
        """End a thread of the story. error: what its function raised; ends the wait of the story's own thread."""
        del self._tellers[teller.actor]
        if error is not None and not self.over:
            if isinstance(error, Exception):
                self._journal.record_error(error)
            main = self._calls.get(self.main.custody)
            first = self._failed or (None if main is None else main.error)
            if first is not None:
                first.add_note(f"and after that {type(error).__name__}: {error}")
            elif main is not None and main.waits:
                main.interrupt(self.main.custody, error)
            else:
                self._failed = error
        leaving, self._leaving = self._leaving, []
        for waiting in leaving:
            self._reach(*waiting)
        teller.custody.give()

    async def end(self) -> None:
        """End the fleets and all other threads of the story. Raises the error of a function for later."""
        custody = self.main.custody
        custody.take()
        for timer in self._timers:
            timer.cancel()
        if self._activity.shared:
            self._failed = await self._settle_last(custody) or self._failed
        for part in tuple(self.parts):
            part.stop()
        await self.settled(custody)
        while self._settling:
            await self.settled(custody)
        self.over = True
        for each, call in tuple(self._calls.items()):
            call.interrupt(each, LabError(OVER))
            await self.settled(custody)  # one at a time, so that the order is always the same
        for task in tuple(self._background.values()):
            task.cancel()
            await self.settled(custody)
        await self.settled(custody)
        self.stop()
        custody.give()
        await self._conducting
        self._raise_failed()

    # --- fleets

    def part(self, seed: int) -> FleetPart:
        """Return the scheduler of one more fleet. seed: of the fleet.

        The first fleet runs in the order that it has without a story; equal draws of others would be no order.
        """
        part = FleetPart(self, seed if not self.parts else seeded_hash(seed, len(self.parts)))
        self.parts.append(part)
        return part

    def order_by(self, actor: str, order: Order) -> None:
        """Draw the turns of a device from this order. Begins to count its turns anew."""
        self._orders[actor] = order
        self._counts.setdefault(actor, 0)
        self.fleet_devices[actor] = DevicePeriod()

    def leave(self, device: Paced) -> None:
        if device.actor in self.fleet_devices:
            self.fleet_devices[device.actor] = DevicePeriod(self.clock.now(), device.state)
            if device.failure is not None:
                self.crashes.append((device.actor, device.failure))
        super().leave(device)

    def remove_part(self, part: FleetPart) -> None:
        """Forget a fleet whose run is over."""
        if part in self.parts:
            self.parts.remove(part)
        for actor in [actor for actor, order in self._orders.items() if order is part.order]:
            del self._orders[actor], self._counts[actor]

    def _draw(self, device: Ordered) -> int:
        order = self._orders.get(device.actor, self._order)
        return order.draw(self.clock.micros(), device.number, self._counts[device.actor])

    # --- the story

    def _custody(self) -> Custody:
        return Custody(self._activity, self, self._ways)

    def _teller(self, number: int) -> Teller:
        teller = Teller(number, self._custody())
        self._tellers[teller.actor] = teller
        self._counts[teller.actor] = 0
        return teller

    def _begin_teller(self, teller: Teller, start: Callable[[Teller], object]) -> None:
        self._make_ready(teller).add_done_callback(lambda _: start(teller))

    async def _perform(self, begun: Background[T], work: Callable[[], Awaitable[T]]) -> None:
        CURRENT.set(begun.custody)
        result: Any = None
        error: BaseException | None = None
        try:
            result = await work()
        except BaseException as raised:  # noqa: BLE001  whoever waits for it gets it
            error = raised
        begun.custody.take()
        del self._background[begun]
        if isinstance(error, asyncio.CancelledError):
            error = LabError(OVER)
        begun.finish(result, error)
        for waiting in begun.waiting:
            self._reach(*waiting)
        begun.custody.give()

    async def _continue(self, teller: Teller, steps: int) -> None:
        """Return when a thread may continue after a call. steps: before the call."""
        teller.custody.take()
        if self.over:
            return
        if self._steps == steps:
            await self.settled(teller.custody)
        else:
            turn = self._make_ready(teller)
            teller.custody.give()
            await turn

    def _raise_failed(self) -> None:
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def _fire(self) -> bool:
        self._woke = False
        if self._continue_first():
            return True
        self._until = min((part.until for part in self.parts), default=math.inf)
        soonest = min(self._until, self.clock.next_timer())
        if soonest == math.inf:
            return False
        if self._looks and self._looks[0][0] <= soonest:
            when, _, start = heappop(self._looks)
            self._until = max(when, self.clock.now())
            super()._fire()  # no timer, since none is earlier
            start()
            self._woke = False
            return True
        return super()._fire()

    async def _reach_end(self) -> None:
        """End the fleets whose time is over. Without any, nothing is due."""
        if self._until == math.inf:
            await self._end_waits()
            return
        for part in tuple(self.parts):
            if part.until <= self._until:
                part.end(reached=True)

    async def _run_next(self) -> bool:
        if self._continue_first():
            return False
        teller = self._tellers.get(self._ready[0][3])
        if teller is None:
            return await super()._run_next()
        *_, turn = heappop(self._ready)
        if not turn.done():
            self._counts[teller.actor] += 1
            teller.custody.take()
            turn.set_result(None)
        return False

    def _continue_first(self) -> bool:
        """Let a wait continue that comes before ready devices and timers. Return whether there was one, or no more."""
        if self._stopped:
            return True
        if self._settling:
            self._reach(*self._settling.popleft())
            return True
        self._steps += 1
        if self._instant and not self.clock.due:
            self._reach(*self._instant.popleft())
            return True
        return False

    async def _end_waits(self) -> None:
        """End the calls of all threads of the story, since nothing else will."""
        stuck = [(each.custody, self._calls.get(each.custody)) for each in self._tellers.values()]
        stuck = [each for each in stuck if each[0] not in self._idle]
        for custody, call in stuck:
            if call is not None:
                call.interrupt(custody, LabError(STUCK))
        if not any(call for _, call in stuck):
            await self._wait_for_event()
