"""Run of a fleet's devices in this process: starts them, measures their requests and ends them."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from labkit.core.certificates import KeyPair
from labkit.core.errors import LabError, UnknownError
from labkit.fleet.channel import NoAnswerError
from labkit.fleet.connection import DeviceConnection, DeviceServer, MemoryServer
from labkit.fleet.device import Credentials, DeviceError
from labkit.fleet.ending import end
from labkit.fleet.fleet_device import SHUTDOWN_REQUEST_LIMIT, FleetDevice, Reboot
from labkit.fleet.fleet_run import DeviceOutcome, OwnFleetRun
from labkit.fleet.kept_device import KeptDevice
from labkit.fleet.measures import Measures, Timings
from labkit.fleet.misuse import INSTANT_REQUEST_LIMIT, ignored_arrivals, runaway
from labkit.fleet.notes import NotedValue
from labkit.fleet.plan import OVER, Member, Plan, RequestRow, failure_of
from labkit.fleet.shapes import online, scaled
from labkit.labtime.clock import Timer
from labkit.labtime.device_scheduler import DeviceScheduler


class Pauses:
    """Spans of lab time in which a run was paused."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []

    def __bool__(self) -> bool:
        return bool(self._spans)

    def begin(self, now: float) -> None:
        """Begin a pause, unless the run is paused."""
        if not self._spans or self._spans[-1][1] < math.inf:
            self._spans.append((now, math.inf))

    def end(self, now: float) -> None:
        """End the current pause, if there is one."""
        if self._spans and self._spans[-1][1] == math.inf:
            self._spans[-1] = (self._spans[-1][0], now)

    def within(self, since: float, until: float) -> float:
        """Return the seconds of pause between two times."""
        paused = 0.0
        for began, ended in reversed(self._spans):
            if ended <= since:
                break
            paused += max(min(ended, until) - max(began, since), 0.0)
        return paused


class LocalFleetRun(OwnFleetRun):
    """Run of devices in this process."""

    def __init__(
        self, plan: Plan, pace: DeviceScheduler, server: DeviceServer | MemoryServer | None = None
    ) -> None:
        """Prepare a run. server: the server of earlier runs, whose TLS session is resumed; None creates one."""
        super().__init__(plan, pace.clock)
        self.pace = pace
        self.over = False  # whether the run has ended, so that nothing more is sent
        self._pauses = Pauses()
        self.states: Counter[str] = Counter(member.state for member in plan.members)
        self.devices: dict[int, FleetDevice] = {}  # devices that have begun; empty once the run is over
        self.begun = self.devices  # their outcomes once the run is over
        self._misuse: LabError | None = None  # error of a behaviour that ignores the arrivals of the run
        self._server = server or DeviceServer(plan.address, plan.domain)
        self._members = {member.number: member for member in plan.members}
        self._numbers = {member.identity: member.number for member in plan.members}
        self._places = {member.number: place for place, member in enumerate(plan.members)}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._abandoned = False  # whether devices that did not end were abandoned
        self._measures = Measures()
        self._timers: list[Timer] = []
        self._online = 0

    @property
    def requests(self) -> int:
        return self.total.requests + self._measures.requests

    async def run(self, until: float | None) -> None:
        clock = self.clock
        self.began, self.timings, self.rate = clock.now(), Timings(), clock.rate
        try:
            self._timers.append(clock.call_at(self.began + self.plan.every, self._tick))
            if self.plan.faults is not None:
                self._timers += self.plan.faults.schedule(clock, self.plan.members, self.devices)
            if self.plan.devices is None:
                self._set_online(len(self.plan.members))
            else:
                self._follow(online(self.plan.devices, len(self.plan.members), self.began))
            self._end_if_over()
            # In its own task, since waking a deep chain of awaiting frames is slow, and settling wakes this often.
            self.reached = await asyncio.get_running_loop().create_task(self.pace.run(until))
        finally:
            await self._finish()
        if self._misuse is not None:
            raise self._misuse

    def scale_arrivals(self, factor: float) -> None:
        """Multiply the arrival rate of the run's shape by `factor`, from each device's next request on.

        Raises LabError for a run without arrivals, and for a factor that is not above 0.
        """
        scaled(self.arrivals, factor)

    async def disconnected(self) -> None:
        """Return once every device has seen that the platform closed its connections."""
        for device in tuple(self.devices.values()):
            await device.disconnected()

    def stop(self) -> None:
        """End the run as soon as the running device sleeps, waits or ends."""
        self.pace.stop()

    def pause(self) -> None:
        """Pause all devices. Raises LabError in a story."""
        self.pace.pause()
        self.paused = True
        self._pauses.begin(self.clock.now())

    def resume(self) -> None:
        """Resume all devices."""
        self.paused = False
        self._pauses.end(self.clock.now())
        self.pace.resume()

    async def block_ended(self, device: FleetDevice) -> None:
        """Cancel a device that continues although the run is over or the device is offline.

        A device that keeps catching the CancelledError is blocked for ever in the end.
        """
        for_ever = self._abandoned
        if not self.over:
            device.enter("waiting")
            for_ever = (device.refused or 0) > SHUTDOWN_REQUEST_LIMIT
        if for_ever:
            self.pace.leave(device)  # so that the pace no longer waits for it
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(0)  # a device that catches everything must not block the loop
        raise asyncio.CancelledError("the run is over")

    def reject_ignored_arrivals(self, device: FleetDevice, action: str) -> None:
        """Raise LabError for a device that acts without the arrivals of the run, and end the run with this error."""
        name = type(self._members[device.number].behaviour).__name__
        error = ignored_arrivals(name, device.identity, action)
        self._misuse = self._misuse or error
        self.stop()
        raise error

    async def reject_runaway(self, device: FleetDevice, *, last: bool) -> None:
        """Raise LabError for a device that keeps a virtual clock from advancing.

        last: it kept catching that error, so it has failed and is blocked until the run ends.
        """
        name = type(self._members[device.number].behaviour).__name__
        error = runaway(name, device.identity, INSTANT_REQUEST_LIMIT)
        if not last:
            raise error
        self._fail(device, error)
        device.enter("failed")
        self.pace.leave(device)
        await asyncio.get_running_loop().create_future()

    def history(self, number: int) -> Sequence[NotedValue]:
        device = self.begun.get(number)
        return () if device is None else tuple(device.history)

    def connection(self, certificate: KeyPair | None) -> DeviceConnection:
        """Return a new connection to the server, not open yet."""
        return DeviceConnection(self._server, certificate)

    def other(self, identity: str) -> Credentials:
        """Return the credentials of another device of the fleet. Raises UnknownError if there is no such device."""
        number = self._numbers.get(identity)
        if number is None:
            if identity not in self.plan.others:
                raise UnknownError(f"no device {identity!r} in this fleet")
            return self.plan.others[identity]
        device = self.begun.get(number)
        return self._members[number].credentials if device is None else device.credentials

    def count(self, device: FleetDevice, action: str, intended: float, error: Exception | None) -> None:
        """Count a finished request. intended: lab time at which it was due."""
        now = self.clock.now()
        latency = now - intended
        if self._pauses:
            latency -= self._pauses.within(intended, now)
        status: int | None = None
        kind: str | None = None
        if isinstance(error, NoAnswerError):
            kind = error.kind
            self._measures.unanswered(kind)
        else:
            last = device.connection.last
            status = error.status if isinstance(error, DeviceError) else last.status_code if last else 200
            kind = None if error is None else str(status)
            if action == "poll" and error is None:
                self._measures.requests += 1  # the duration of a poll is not a latency
            else:
                self._measures.answered(status, latency)
                self.timings.latency.add(device.connection.took)
        if self.plan.requests:
            self.rows.append(RequestRow(now, device.identity, action, status, latency, kind))

    # --- starting and ending devices

    def _follow(self, changes: Iterator[tuple[float, int]]) -> None:
        """Set the number of online devices at each change: pairs of lab time and number."""
        when, number = next(changes, (None, 0))
        while when is not None and when <= self.clock.now():
            self._set_online(number)
            when, number = next(changes, (None, 0))
        if when is not None:
            self._timers.append(self.clock.call_at(when, partial(self._change, number, changes)))

    def _change(self, number: int, changes: Iterator[tuple[float, int]]) -> None:
        if not self.over:
            self._set_online(number)
            self._follow(changes)

    def _set_online(self, number: int) -> None:
        for member in self.plan.members[self._online : number]:
            self._start(member)
        for member in self.plan.members[number : self._online]:
            task = self._tasks.get(member.number)
            if task is not None:
                device = self.devices[member.number]
                device.refused = 0
                self.pace.cancel(device, task)
        self._online = number

    def _start(self, member: Member) -> None:
        if member.over:
            return
        device = self.devices.get(member.number)
        if device is None:
            connection = self.connection(member.credentials.certificate)
            device = FleetDevice(
                self, len(self.plan.members), member.number, member.identity, connection, member.credentials
            )
            device.epoch = device.first_epoch = member.epoch
            if member.kept is not None:
                member.kept.restore(device)
            self.devices[member.number] = device
        elif member.number in self._tasks or device.state in OVER:
            return  # a device that is still going offline restarts afterwards
        else:
            device.epoch += 1
        device.alive, device.refused = True, None
        self.pace.join(device)
        task = self._tasks[member.number] = asyncio.get_running_loop().create_task(self._live(device, member))
        task.add_done_callback(partial(self._done, device, member))

    async def _live(self, device: FleetDevice, member: Member) -> None:
        state = "ended"
        try:
            await self.pace.begin(device)
            device.enter("running")
            if self.plan.faults is not None and device.epoch == device.first_epoch:
                await self.plan.faults.started(device)
            while True:
                try:
                    await member.behaviour.for_device(device.random).run(device)
                    device.expect_arrivals_used("end of its run")
                    break
                except Reboot:
                    device.disconnect()
                    device.epoch += 1
                    await device.sleep()  # a device that only reboots must let the others run
        except BaseException as error:  # noqa: BLE001  a behaviour may raise anything; other devices continue
            if isinstance(error, asyncio.CancelledError) and (self.over or device.refused is not None):
                state = device.state if self.over else "waiting"
            else:
                state = "failed"
                self._fail(device, error)
        finally:
            again = device.refused is not None and self._places[member.number] < self._online
            self._leave(device, member, state)
            if again and not self.over:
                self._start(member)

    def _done(self, device: FleetDevice, member: Member, task: asyncio.Task[None]) -> None:
        if self._tasks.get(member.number) is task:  # the task was cancelled before it began
            self._leave(device, member, "waiting")
            if self._places[member.number] < self._online and not self.over:
                self._start(member)

    def _leave(self, device: FleetDevice, member: Member, state: str) -> None:
        device.disconnect()
        device.enter(state)
        device.alive = False
        self._tasks.pop(member.number, None)
        self.pace.leave(device)
        self._end_if_over()

    def _end_if_over(self) -> None:
        over = sum(self.states[state] for state in OVER)
        if not self._tasks and (self.plan.devices is None or over == len(self.plan.members)):
            self.pace.stop()

    def _fail(self, device: FleetDevice, error: BaseException) -> None:
        behaviour, now = self._members[device.number].behaviour, self.clock.now()
        device.failure = failure_of(device, behaviour, error, now, self.plan.seed)
        self.failures.append(device.failure)

    # --- ticks and the end

    def _tick(self) -> None:
        if self.over:
            return
        self._end_interval(self.began + self.plan.every * (len(self.ticks) + 1))
        self._timers = [timer for timer in self._timers if timer.callback is not None]
        when = self.began + self.plan.every * (len(self.ticks) + 1)
        self._timers.append(self.clock.call_at(when, self._tick))

    def _end_interval(self, when: float) -> None:
        self.total.merge(self._measures)
        self._emit(when, self._measures, self.states)

    async def _finish(self) -> None:
        """End all devices, and return once the lab has seen their connections close."""
        if self._unfinished(now := self.clock.now()):
            self._end_interval(now)
        self.over = True
        for timer in self._timers:
            timer.cancel()
        await self._end_devices()
        try:
            await self.pace.close()
        finally:
            self._release_devices()
            self.timings.end()
            self._finished.set()

    def _unfinished(self, now: float) -> bool:
        """Return whether the time since the last tick needs a last tick."""
        if self._measures.requests or self._measures.errors:
            return True
        last = self.ticks[-1] if self.ticks else None
        since = now - (self.began if last is None else last.time)
        if last is None or not self.clock.rate or since > self.plan.every / 2:
            return since > 0
        return any(last.devices.get(state, 0) != self.states[state] for state in ("failed", "ended"))

    async def _end_devices(self) -> None:
        """End all devices; abandon devices that do not end, as failed."""
        left = await end(self._tasks)
        self._abandoned = True
        for number in left:
            device = self.devices[number]
            what = "a bare `except:` catches the CancelledError that ends it"
            self._fail(device, LabError(f"the device does not end with the run: perhaps {what}"))
            self._leave(device, self._members[number], "failed")

    def _release_devices(self) -> None:
        """Replace the devices by their outcomes.

        Otherwise the handle of a finished run would keep their connections, random generators and coroutines, which
        only the garbage collector could free, since devices refer to the run.
        """
        self.begun = {
            number: DeviceOutcome(
                each.state,
                each.epoch,
                each.notes,
                each.credentials,
                each.history,
                None if self.plan.anew else KeptDevice.of(each),
            )
            for number, each in self.devices.items()
        }
        self.devices.clear()
        self._subscribers.clear()  # some refer to the run's handle, such as its progress bar
