"""Scheduler of a whole story on a virtual clock: its threads and the devices of its fleets run one at a time.

As simulated.py, with these differences:

- A thread of the story counts as pending work while it runs (story_work.py), so that nothing else runs and lab time
  stands still. Once it waits, or the platform holds its request, the others continue.
- When a call of a thread ends, and nothing else continued meanwhile, the thread continues once the effects of the call
  are over. Otherwise it waits for a turn, in an order drawn from the seed like those of devices.
- Each fleet is a part (story_fleet.py), which ends at its own time.
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

from labkit.core.chance import seeded_hash
from labkit.core.errors import LabError
from labkit.core.journal import Journal
from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock, Timer
from labkit.labtime.device_scheduler import Failure, Ordered, ScheduledDevice
from labkit.labtime.holding import Holding
from labkit.labtime.simulated import Order
from labkit.labtime.story_fleet import StoryFleet
from labkit.labtime.story_threads import Background, DevicePeriod, Reached, StoryThread, StoryThreadCall
from labkit.labtime.story_waits import StoryWaits
from labkit.labtime.story_work import CURRENT, LOOKS, StoryRequest, StoryWork
from labkit.labtime.turns import Turn

T = TypeVar("T")

STUCK = "nothing is due any more that could end this wait: lab time would stand still for ever"
OVER = "the story is over"
LOOKING = 1_000_000  # numbers of threads that only look begin above it, so that other threads keep theirs


class VirtualStoryScheduler(StoryWaits):
    """Scheduler of a story. journal: for errors; requests: of the story's requests, by port; seed: of the order."""

    def __init__(
        self,
        clock: Clock,
        holding: Holding,
        activity: Activity,
        seed: int,
        requests: dict[int, StoryRequest],
        journal: Journal,
    ) -> None:
        super().__init__(clock, holding, activity, seed)
        self.over = False
        self.parts: list[StoryFleet] = []
        self._seed = seed
        self._requests = requests
        self._journal = journal
        self._orders: dict[str, Order] = {}  # by actor
        self._threads: dict[str, StoryThread] = {}  # by actor
        self._later = 0  # functions for later so far
        self._timers: set[Timer] = set()  # of those that have not begun
        self._looks: list[tuple[float, int, Callable[[], object]]] = []  # to come: when, number, start
        self._looked = 0  # looks so far, done or to come
        self._idle: set[StoryWork] = set()  # of threads that wait for their next look
        self.fleet_devices: dict[str, DevicePeriod] = {}  # by actor
        self.crashes: list[tuple[str, Failure]] = []  # of behaviours, with the actor of the device
        self._background: dict[Background[Any], asyncio.Task[None]] = {}
        self._leaving: list[tuple[StoryWork, Reached]] = []  # waits for the end of a thread
        self._failed: BaseException | None = None
        self.main = self._teller(0)
        self.main.work.begin()
        self._conducting = asyncio.get_running_loop().create_task(self._conduct_story())

    # --- called by the threads of the story, on the loop

    async def call(self, thread: StoryThread, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of what a thread calls, when it is the thread's turn.

        Raises LabError if nothing can end its wait, and once the story is over; an error of a function for later.
        """
        story_work, steps = thread.work, self._steps
        if self.over:
            raise LabError(OVER)
        call = self._calls[story_work] = StoryThreadCall()
        CURRENT.set(story_work)
        LOOKS.set(thread.looks)
        try:
            try:
                result = await work()
            except asyncio.CancelledError:
                story_work.begin()
                if call.error is None:  # the thread was interrupted
                    raise
                await self._continue(thread, steps)
                raise call.error from None
            except BaseException:
                await self._continue(thread, steps)
                raise
            if not call.looked:
                await self._continue(thread, steps)
        except asyncio.CancelledError:
            if call.error is None:
                raise
            raise call.error from None
        finally:
            del self._calls[story_work]
        if thread is self.main:
            self._raise_failed()
        return result

    async def asked(self, turn: Turn, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of what a handler calls in a thread, on behalf of its turn."""
        story_work = StoryWork(self._activity, self, self._requests, turn, held=True)
        call = self._calls[story_work] = StoryThreadCall()
        CURRENT.set(story_work)
        try:
            return await work()
        except asyncio.CancelledError:
            if call.error is None:
                raise
            raise call.error from None
        finally:
            story_work.begin()
            del self._calls[story_work]

    async def start(self, work: Callable[[], Awaitable[T]]) -> Background[T]:
        """Start a function, and return at once."""
        if self.over:
            raise LabError(OVER)
        begun: Background[T] = Background(self._custody())
        begun.work.begin()
        self._background[begun] = task = asyncio.get_running_loop().create_task(self._perform(begun, work))
        begun.cancel_with_future(task)
        return begun

    async def ended(self, begun: Background[Any]) -> None:
        """Return once a started function has ended."""
        story_work = CURRENT.get()
        assert story_work is not None
        if begun in self._background:
            reached: Reached = asyncio.get_running_loop().create_future()
            begun.waiting.append((story_work, reached))
            await self._wait(story_work, reached)

    async def ended_future(self, future: Future[Any]) -> None:
        """Return once a future is done that a thread of the story completes."""
        story_work = CURRENT.get()
        assert story_work is not None
        while not future.done():
            self._leaving.append((story_work, reached := asyncio.get_running_loop().create_future()))
            await self._wait(story_work, reached)

    async def later(self, when: float, start: Callable[[StoryThread], object]) -> None:
        """Start a thread of the story once lab time has reached `when` and it is the thread's turn.

        start: starts it; `leave` has to follow. Raises LabError for a time that the clock cannot reach.
        """
        now = self.clock.now()
        self.clock.check(max(when, now))
        self._later += 1
        thread = self._teller(-self._later)

        def due() -> None:
            self._timers.discard(timer)
            self._begin_teller(thread, start)

        if when > now:
            timer = self.clock.call_at(when, due)
            self._timers.add(timer)
        else:
            self._begin_teller(thread, start)

    async def look(self, when: float, start: Callable[[StoryThread], object]) -> None:
        """Start a thread at a lab time which looks at the story; `leave_story` has to follow.

        Then everything earlier is over, and nothing of that moment has happened. It keeps no wait of the story from an
        end, and takes no turn of others.
        """
        thread = self._teller(-LOOKING - self._looked)
        thread.looks = True

        def begin() -> None:
            thread.work.begin()
            start(thread)

        self._look_at(when, begin)

    async def next_look(self, when: float) -> None:
        """Return to a thread that looks at a lab time, as `look` describes it."""
        story_work = CURRENT.get()
        assert story_work is not None
        reached: Reached = asyncio.get_running_loop().create_future()
        self._look_at(when, partial(self._reach, story_work, reached))
        self._idle.add(story_work)
        try:
            await self._wait(story_work, reached)
        finally:
            self._idle.discard(story_work)
        self._calls[story_work].looked = True

    def _look_at(self, when: float, start: Callable[[], object]) -> None:
        self._looked += 1
        heappush(self._looks, (when, self._looked, start))

    async def leave_story(self, thread: StoryThread, error: BaseException | None) -> None:
        """End a thread of the story. error: what its function raised; ends the wait of the story's own thread."""
        del self._threads[thread.actor]
        if error is not None and not self.over:
            if isinstance(error, Exception):
                self._journal.record_error(error)
            main = self._calls.get(self.main.work)
            first = self._failed or (None if main is None else main.error)
            if first is not None:
                first.add_note(f"and after that {type(error).__name__}: {error}")
            elif main is not None and main.waits:
                main.interrupt(self.main.work, error)
            else:
                self._failed = error
        leaving, self._leaving = self._leaving, []
        for waiting in leaving:
            self._reach(*waiting)
        thread.work.end()

    async def end(self) -> None:
        """End the fleets and all other threads of the story. Raises the error of a function for later."""
        story_work = self.main.work
        story_work.begin()
        for timer in self._timers:
            timer.cancel()
        if self._activity.shared:
            self._failed = await self._settle_last(story_work) or self._failed
        for part in tuple(self.parts):
            part.stop()
        await self.settled(story_work)
        while self._settling:
            await self.settled(story_work)
        self.over = True
        for each, call in tuple(self._calls.items()):
            call.interrupt(each, LabError(OVER))
            await self.settled(story_work)  # one at a time, so that the order is always the same
        for task in tuple(self._background.values()):
            task.cancel()
            await self.settled(story_work)
        await self.settled(story_work)
        self.stop()
        story_work.end()
        await self._conducting
        del self._conducting  # an ended task that is kept costs the end of every later lab
        self._raise_failed()

    # --- fleets

    def part(self, seed: int) -> StoryFleet:
        """Return the scheduler of one more fleet. seed: of the fleet.

        The first fleet runs in the order that it has without a story; a further one with the same seed would draw
        the same numbers for its devices, which would take turns with those of the first in the order of their names.
        """
        part = StoryFleet(self, seed if not self.parts else seeded_hash(seed, len(self.parts)))
        self.parts.append(part)
        return part

    def order_by(self, actor: str, order: Order) -> None:
        """Draw the turns of a device from this order. Begins to count its turns anew."""
        self._orders[actor] = order
        self._counts.setdefault(actor, 0)
        self.fleet_devices[actor] = DevicePeriod(since=self.clock.now())

    def leave(self, device: ScheduledDevice) -> None:
        if device.actor in self.fleet_devices:
            period = self.fleet_devices[device.actor]
            self.fleet_devices[device.actor] = DevicePeriod(self.clock.now(), device.state, period.since)
            if device.failure is not None:
                self.crashes.append((device.actor, device.failure))
        super().leave(device)

    def remove_part(self, part: StoryFleet) -> None:
        """Forget a fleet whose run is over."""
        if part in self.parts:
            self.parts.remove(part)
        for actor in [actor for actor, order in self._orders.items() if order is part.order]:
            del self._orders[actor], self._counts[actor]

    def _draw(self, device: Ordered) -> int:
        order = self._orders.get(device.actor, self._order)
        return order.draw(self.clock.micros(), device.number, self._counts[device.actor])

    # --- the story

    def _custody(self) -> StoryWork:
        return StoryWork(self._activity, self, self._requests)

    def _teller(self, number: int) -> StoryThread:
        thread = StoryThread(number, self._custody())
        self._threads[thread.actor] = thread
        self._counts[thread.actor] = 0
        return thread

    def _begin_teller(self, thread: StoryThread, start: Callable[[StoryThread], object]) -> None:
        self._make_ready(thread).add_done_callback(lambda _: start(thread))

    async def _perform(self, begun: Background[T], work: Callable[[], Awaitable[T]]) -> None:
        CURRENT.set(begun.work)
        result: Any = None
        error: BaseException | None = None
        try:
            result = await work()
        except BaseException as raised:  # noqa: BLE001  whoever waits for it gets it
            error = raised
        begun.work.begin()
        del self._background[begun]
        if isinstance(error, asyncio.CancelledError):
            error = LabError(OVER)
        begun.finish(result, error)
        for waiting in begun.waiting:
            self._reach(*waiting)
        begun.work.end()

    async def _continue(self, thread: StoryThread, steps: int) -> None:
        """Return when a thread may continue after a call. steps: before the call."""
        thread.work.begin()
        if self.over:
            return
        if (
            self._steps == steps
        ):  # nothing else had a turn since the call began: its thread is still the one whose turn it is
            await self.settled(thread.work)
        else:
            turn = self._make_ready(thread)
            thread.work.end()
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
        thread = self._threads.get(self._ready[0][3])
        if thread is None:
            return await super()._run_next()
        *_, turn = heappop(self._ready)
        if not turn.done():
            self._counts[thread.actor] += 1
            thread.work.begin()
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
        return False

    async def _end_waits(self) -> None:
        """End the calls of all threads of the story, since nothing else will."""
        stuck = [(each.work, self._calls.get(each.work)) for each in self._threads.values()]
        stuck = [each for each in stuck if each[0] not in self._idle]
        for story_work, call in stuck:
            if call is not None:
                call.interrupt(story_work, LabError(STUCK))
        if not any(call for _, call in stuck):
            await self._wait_for_event()
