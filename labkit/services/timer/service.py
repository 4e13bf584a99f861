"""The Timer service (platform types; document 1, Endpoints): events after a time, or again and again, on lab time."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextvars import Context as OwnContext
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from labkit.context import Context
from labkit.core.errors import ServiceError, StorageError
from labkit.labtime.events import EventKind
from labkit.services.arguments import VALID, Whole, as_name, expect_plain, not_boolean, number_text
from labkit.services.operation import Advice, Caller, Service, operation, read_parameters
from labkit.services.redaction import InJournal, redacted
from labkit.services.timer.calendar import KINDS, MICROS, START, Schedule, next_moment
from labkit.services.timer.store import INTERVAL, ONCE, OwnTimers, SetTimer, TimerStore

MOST_TIMERS = 10_000  # of a solution
LARGEST_MESSAGE = 8192  # characters and items
LONGEST_ID = 200  # characters
SHORTEST_INTERVAL = 100  # milliseconds
LONGEST = 100 * 366 * 86_400_000  # milliseconds
_COUNT = re.compile(r"[0-9]{1,6}")
SCHEDULE = " schedule"  # ends the name under which the timers of a solution's configuration are kept
FIRED = EventKind("timer", "timer", ("request", "message"))


def _duration_hint(value: object, given: Mapping[str, object]) -> str:
    """Return a sentence about a duration that looks like seconds: 2 to 99, or minutes and half hours of them.

    0 and 1 are usual for an event as soon as possible.
    """
    match = _COUNT.fullmatch(number_text(value))
    if match is None:
        return ""
    number = int(match[0])
    is_long = number % 60 == 0 and number % 1000 != 0 and (number < 1000 or number % 1800 == 0)
    if number < 2 or not (number < 100 or is_long):
        return ""
    return f"{number} milliseconds are {number / 1000:g} s; did you mean {number}000?"


TimerId = Annotated[str, BeforeValidator(as_name), Field(min_length=1, max_length=LONGEST_ID), VALID]
Message = Annotated[
    Any, AfterValidator(lambda value: expect_plain(value, LARGEST_MESSAGE)), InJournal(redacted)
]
Milliseconds = Annotated[float, BeforeValidator(not_boolean), Field(ge=0, le=LONGEST), Advice(_duration_hint)]
Interval = Annotated[Milliseconds, Field(ge=SHORTEST_INTERVAL)]
Limit = Annotated[Whole, Field(ge=1, le=MOST_TIMERS)]


class TimerFile(BaseModel):
    """Parameters of the service, services/timer.yaml (published references, services/timer)."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    schedule: Schedule = Schedule()


class TimerService(Service):
    """Service that raises the event `timer timer` of a solution later, once or at intervals, on lab time.

    A handler gets `request`: message, timer_id, solution_id. Timers last over restarts: one that came due while the
    platform was down fires once, when it is up again. Of two timers of one moment, the one that was set first fires
    first. An interval whose event still waits for a handler is not raised once more. `schedule` of services/timer.yaml
    raises it at the beginning of each UTC hour, day, week, month and year, with the timer_id `schedule.hourly` and the
    message `hourly`; these timers are not listed, and cancelAll leaves them.
    """

    name: ClassVar[str] = "Timer"
    configuration_model: ClassVar[type[BaseModel]] = TimerFile
    events: ClassVar[tuple[EventKind, ...]] = (FIRED,)

    def __init__(self, context: Context) -> None:
        self.context = context
        self._store = TimerStore(context.database)
        self._timers: defaultdict[str, OwnTimers] = defaultdict(OwnTimers)  # by solution
        self._firing: set[asyncio.Task[None]] = set()

    @operation
    async def sendAfter(
        self, caller: Caller, duration: Milliseconds, message: Message = None, timer_id: TimerId | None = None
    ) -> dict[str, object]:
        """Raise the event once, after a duration in milliseconds. Returns {timer_id, result}, where result is "ok".

        message: any value of at most 8192 characters and items; timer_id: a text, made where it is absent; a timer of
        the solution with the same id is replaced. 403 for more than 10000 timers.
        """
        due = self.context.clock.micros() + round(duration) * 1000
        return await self._set(caller.solution, timer_id, message, round(duration), ONCE, due, caller.cause)

    @operation
    async def sendInterval(
        self, caller: Caller, duration: Interval, message: Message = None, timer_id: TimerId | None = None
    ) -> dict[str, object]:
        """Raise the event after each duration, 100 milliseconds or more. Returns {timer_id, result}.

        The other arguments are those of sendAfter.
        """
        due = self.context.clock.micros() + round(duration) * 1000
        return await self._set(
            caller.solution, timer_id, message, round(duration), INTERVAL, due, caller.cause
        )

    @operation
    async def schedule(
        self,
        caller: Caller,
        schedule: Schedule,
        message: Message = None,
        timer_id: TimerId | None = None,
        duration: Milliseconds | None = None,
    ) -> dict[str, object]:
        """Raise the event each hour, day, week, month or year from now on, by the calendar. Returns {timer_id, result}.

        schedule: {hourly, daily, weekly, monthly, yearly}, one of which is true; a month without today's day has its
        last day instead. duration has no effect. The other arguments are those of sendAfter.
        """
        kinds = schedule.kinds()
        if len(kinds) != 1:
            raise ServiceError(
                400, f"Parameter schedule validation failed: expected one of {', '.join(KINDS)} as true."
            )
        now = self.context.clock.micros()
        due = next_moment(kinds[0], now, now)
        made = await self._set(caller.solution, timer_id, message, now, kinds[0], due, caller.cause)
        return {**made, "result": "ok"}

    @operation
    async def cancel(self, caller: Caller, timer_id: TimerId) -> dict[str, object]:
        """Remove a timer; no error if there is none with this id. Returns {result}, which is "ok"."""
        await self.cancel_timer(caller.solution, timer_id)
        return {"result": "ok"}

    @operation
    async def cancelAll(self, caller: Caller) -> dict[str, object]:
        """Remove all timers of the solution. Returns {result}, which is "ok"."""
        await self.forget_timers(caller.solution)
        return {"result": "ok"}

    @operation
    async def list_(self, caller: Caller, limit: Limit = 1000) -> dict[str, object]:
        """List the timers in the order in which they fire: {list, timers, result}, where result is "ok".

        list: their ids; timers: tables of timer_id, message, duration (milliseconds), interval (whether it fires again)
        and due (Unix seconds); of schedule, its kind instead of a duration. limit: 1 to 10000.
        """
        timers = self._of(caller.solution).first(limit)
        shown = [_shown(each) for each in timers]
        return {"list": [each.timer_id for each in timers], "timers": shown, "result": "ok"}

    # ---- lifecycle

    async def start(self) -> None:
        """Load the timers of earlier starts; those of a solution begin once it is added."""
        await self._load_anew(keep_causes=False)  # the journal is a new one

    async def set_up(self, solution: str) -> None:
        """Arm the timers of a solution that is there again; those that came due meanwhile fire first."""
        clock, address = self.context.clock, self.context.address
        await self._set_schedule(solution)
        for each in (*self._of(solution).first(), *self._of(solution + SCHEDULE).first()):
            if each.alarm is not None:
                continue
            if each.due <= clock.micros() and clock.now() >= address.down_until:
                self.fire(each)
            else:
                self.arm(each, each.place if each.due >= address.down_until * MICROS else None)

    async def _set_schedule(self, solution: str) -> None:
        """Set the timers of the solution's configuration, and remove others; those that are set already go on."""
        given = read_parameters(TimerFile, self.name, self.context.configuration.get(solution, {}))
        kinds, place, now = given.schedule.kinds(), solution + SCHEDULE, self.context.clock.micros()
        for each in {*self._of(place)} - {f"schedule.{kind}" for kind in kinds}:
            await self.cancel_timer(place, each)
        for kind in kinds:
            if f"schedule.{kind}" not in self._of(place):
                due = next_moment(kind, START, now)
                await self._set(place, f"schedule.{kind}", kind, START, kind, due, None)

    async def forget(self, solution: str) -> None:
        await self.forget_timers(solution)
        await self.forget_timers(solution + SCHEDULE)

    async def forget_timers(self, place: str) -> None:
        """Remove the timers of a solution, or those of its configuration: its id with SCHEDULE at the end."""
        own = self._timers.pop(place, None)
        if own:
            _cancel(own)
            await self._store.forget(place)

    async def clear(self) -> None:
        for own in self._timers.values():
            _cancel(own)
        self._timers.clear()

    async def restore(self, state: None) -> None:
        await self._load()

    async def crash(self) -> None:
        await self.stop()

    async def recover(self) -> None:
        await self._load_anew(keep_causes=True)

    async def recovered(self) -> None:
        for solution in dict.fromkeys(place.removesuffix(SCHEDULE) for place in self._timers):
            if solution in self.context.solutions:
                await self.set_up(solution)

    async def stop(self) -> None:
        await self.clear()
        for task in self._firing:
            task.cancel()
        await asyncio.gather(*self._firing, return_exceptions=True)

    async def _load(self) -> None:
        self._timers.clear()
        for each in await self._store.load():
            self._timers[each.solution].put(each)

    async def _load_anew(self, *, keep_causes: bool) -> None:
        """Load all timers, and give them new places on the clock, in their order."""
        await self._load()
        timers = [each for own in self._timers.values() for each in own.values()]
        timers.sort(key=lambda each: each.place)
        self._timers.clear()
        for each in timers:
            each.place = self.context.clock.next_timer_at(each.due / MICROS).order
            each.cause = each.cause if keep_causes else None
            self._timers[each.solution].put(each)
        await self._store.renumber(timers)

    # ---- timers

    def _of(self, solution: str) -> OwnTimers:
        """Return the timers of a solution to read or remove; an empty table for one without timers."""
        return self._timers.get(solution) or OwnTimers()

    async def _set(
        self,
        solution: str,
        timer_id: str | None,
        message: object,
        duration: int,
        repeats: str,
        due: int,
        cause: int | None,
    ) -> dict[str, object]:
        own = self._timers[solution]
        expect_room(own, timer_id)
        name = timer_id or self.context.identifiers.hex(f"{solution} timer", 32)
        place = self.context.clock.next_timer_at(due / MICROS).order
        timer = SetTimer(solution, name, json.dumps(message), duration, repeats, due, place, cause)
        before = own.put(timer)
        if before is not None:
            before.cancel()
        # Before the commit, which takes real time: with the place drawn above the timer fires among others of its
        # instant in the order of their calls, and not late where the clock moves meanwhile. A commit that fails undoes
        # it.
        self.arm(timer, place)
        try:
            await self._store.put(timer)
        except StorageError:
            timer.cancel()
            if own.get(name) is timer:
                own.remove(name)
                if before is not None:
                    own.put(before)
                    self.arm(before, None)
            raise
        return {"timer_id": name, "result": "ok"}

    def after(self, solution: str, moment: tuple[int, int], most: int) -> list[SetTimer]:
        """Return at most so many timers of a solution and of its configuration, in the order in which they fire.

        moment: lab time in microseconds and place, behind which they are.
        """
        found = [*self._of(solution).first(most, moment), *self._of(solution + SCHEDULE).first(most, moment)]
        return sorted(found, key=lambda each: (each.due, each.place))[:most]

    async def cancel_timer(self, solution: str, timer_id: str) -> None:
        """Remove a timer of a solution, if there is one with this id."""
        timer = self._of(solution).remove(timer_id)
        if timer is not None:
            timer.cancel()
            await self._store.remove(timer)

    def arm(self, timer: SetTimer, order: int | None) -> None:
        """Have a timer fire when it is due; not before the platform has power again. order: on the clock."""
        when = max(timer.due / MICROS, self.context.address.down_until)
        timer.alarm = self.context.clock.call_at(when, partial(self.fire, timer), order)

    def fire(self, timer: SetTimer) -> None:
        """Begin to raise the event of a timer that is due, and arm it again if it repeats."""
        if timer.repeats != ONCE:
            now, due = max(timer.due, self.context.clock.micros()), timer.due
            if timer.repeats == INTERVAL:
                interval = timer.duration * 1000
                due += ((now - due) // interval + 1) * interval
            else:
                due = next_moment(timer.repeats, timer.duration, now)
            own = self._of(timer.solution)
            is_set = own.get(timer.timer_id) is timer
            if is_set:
                own.remove(timer.timer_id)
            timer.due = due
            if is_set:
                own.put(timer)
            self.arm(timer, timer.place)
        if not timer.is_firing:
            timer.is_firing = True
            self.context.activity.begin()
            # not in the context of the run that moved the clock, whose turn and work the handler's would be
            raising = asyncio.get_running_loop().create_task(self._raise(timer), context=OwnContext())
            self._firing.add(raising)
            raising.add_done_callback(self._end)

    def _end(self, raising: asyncio.Task[None]) -> None:
        self._firing.discard(raising)
        self.context.activity.end()

    async def _raise(self, timer: SetTimer) -> None:
        """Raise the event of a timer, unless it is cancelled or replaced while too many events wait."""
        solution, events = timer.solution.removesuffix(SCHEDULE), self.context.events
        source = f"{solution}/timer"
        await events.wait_for_capacity(source)
        own = self._of(timer.solution)
        if own.get(timer.timer_id) is not timer:
            return
        if timer.repeats == ONCE:
            own.remove(timer.timer_id)
        timer.is_firing = False
        # Before the event: a crash between both loses that of a timer without repeats, which is the lesser evil, since
        # an event that came first would come again after the restart.
        try:
            await self._store.fired(timer)
        except StorageError as error:  # it may fire once more after a restart
            self.context.journal.record_error(error)
        if solution not in self.context.solutions:  # removed meanwhile
            return
        raised = (FIRED, partial(_payload, timer), len(timer.message) + len(solution) + LONGEST_ID)
        events.emit(
            source, [raised], cause=timer.cause, solution=solution, detail=partial(_shown_payload, timer)
        )


def expect_room(own: Collection[str], timer_id: str | None) -> None:
    """Raise ServiceError 403 if a solution has too many timers for one more. own: the ids of those that it has."""
    if len(own) >= MOST_TIMERS and timer_id not in own:
        raise ServiceError(403, f"a solution may have at most {MOST_TIMERS} timers")


def _payload(timer: SetTimer) -> dict[str, object]:
    return {
        "message": json.loads(timer.message),
        "timer_id": timer.timer_id,
        "solution_id": timer.solution.removesuffix(SCHEDULE),
    }


def _shown_payload(timer: SetTimer) -> dict[str, object]:
    """Return the payload as the journal has it."""
    return {**_payload(timer), "message": redacted(json.loads(timer.message))}


def _shown(timer: SetTimer) -> dict[str, object]:
    return {
        "timer_id": timer.timer_id,
        "message": json.loads(timer.message),
        **({"schedule": timer.repeats} if timer.repeats in KINDS else {"duration": timer.duration}),
        "interval": timer.repeats != ONCE,
        "due": timer.due / MICROS,
    }


def _cancel(own: dict[str, SetTimer]) -> None:
    for each in own.values():
        each.cancel()
