"""Runs of fleets of a lab in another process: on a virtual clock there, on a running one as its clients from here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from labkit.control.clock import ClockState
from labkit.control.fleet_runs import FleetRunsControl, add_mark, mark_own_faults, own
from labkit.control.following import Missed
from labkit.control.lab import LabEvent
from labkit.control.over_http.client import ControlClient
from labkit.control.over_http.operations import operations
from labkit.control.over_http.remote_run import RemoteFleetRun
from labkit.control.run_faults import FaultTasks, restarts
from labkit.core.errors import LabError, LabkitError, OwnProcessError
from labkit.core.host_time import RealTime
from labkit.core.marks import Mark
from labkit.fleet.cluster import ClusterFleetRun
from labkit.fleet.descriptors import provide
from labkit.fleet.fleet_run import FleetRun, OwnFleetRun
from labkit.fleet.live import Live
from labkit.fleet.local_run import LocalFleetRun
from labkit.fleet.plan import Plan
from labkit.labtime.clock import Clock, Reading

COMPARED = 1.0  # real seconds between two comparisons of the clocks


class RemoteFleetRuns(FleetRunsControl):
    """Operations that run fleets of a lab in another process."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    async def prepare(self, plan: Plan) -> FleetRun:
        """Prepare a run: of live devices in this process, or, on a virtual clock, of described ones in the lab's.

        Raises OwnProcessError for devices in the lab's process that are to go on from an earlier run.
        """
        state = await self._clock()
        if not state.rate:
            if not plan.anew:
                raise OwnProcessError(
                    "anew=False: on a virtual clock the devices of a lab elsewhere run there, and start anew in each "
                    "run: make the lab here with Lab(…), or leave it out"
                )
            return RemoteFleetRun(plan, self._client, state.time)
        provide(len(plan.members), strict=True)
        return LocalFleetRun(plan, Live(clock_like(state)))

    async def prepare_on_cluster(
        self, plan: Plan, client: Any, shares: int, close: Callable[[], object]
    ) -> FleetRun:
        """Prepare a run of live devices on the workers of a dask cluster."""
        return ClusterFleetRun(plan, clock_like(await self._clock()), client, shares, close)

    async def watch_received(self, fleet_run: FleetRun) -> None:
        """Have an added handler report what it receives to the accounts of a run."""
        _described(fleet_run).counting = True

    async def watch_returned(self, solution: str, fleet_run: FleetRun) -> bool:
        """Have a solution report what its handler of datapoints returns: see FleetRunsControl.watch_returned."""
        _described(fleet_run).counting = solution
        found: bool = await self._client.call(
            operations()["fleets.returns_numbers"], solution, fleet_run.plan.product
        )
        return found

    async def refresh(self, fleet_run: FleetRun) -> None:
        """Bring devices and accounts of a run in progress up to date."""
        if isinstance(fleet_run, RemoteFleetRun):
            await fleet_run.refresh()

    async def run(self, fleet_run: FleetRun, seconds: float | None, counted: bool = False) -> None:
        """Run the devices of a fleet for `seconds` of lab time; None: until `stop`."""
        if isinstance(fleet_run, RemoteFleetRun):
            await fleet_run.run(seconds, counted)
            return
        await self._run(own(fleet_run), seconds)

    async def _run(self, fleet_run: OwnFleetRun, seconds: float | None) -> None:
        clock = fleet_run.clock
        await fleet_run.prepare()
        until = None if seconds is None else clock.after(seconds)
        faults = fleet_run.plan.faults
        tasks = FaultTasks(clock, [] if faults is None else restarts(faults, self._restart))
        try:
            async with self._following(fleet_run, clock):
                await fleet_run.run(until)
        finally:
            await tasks.stop()
            clock.close()

    def _restart(self, down: float) -> asyncio.Task[None]:
        async def restart() -> None:
            with suppress(LabkitError):
                await self._client.call(operations()["lab.restart"], down)

        return asyncio.get_running_loop().create_task(restart())

    async def _clock(self) -> ClockState:
        found: ClockState = await self._client.call(operations()["clock.state"])
        return found

    @asynccontextmanager
    async def _following(self, fleet_run: OwnFleetRun, clock: Clock) -> AsyncIterator[None]:
        """Keep clock and marks of a run like those of the lab within the block."""
        fleet_run.marks[:] = await self._faults(fleet_run)
        ends = mark_own_faults(fleet_run, clock)
        events = await self._client.open(operations()["lab.follow"], records=False)
        tasks = [asyncio.create_task(each) for each in (self._compare(clock), _note_marks(fleet_run, events))]
        try:
            yield
        finally:
            for end in ends:
                end()
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _faults(self, fleet_run: OwnFleetRun) -> list[Mark]:
        there = await self._client.call(operations()["faults.all"])
        texts = [each.does if each.name.startswith("fault ") else each.name for each in there]
        return [Mark(fleet_run.began, "fault", each) for each in texts]

    async def _compare(self, clock: Clock) -> None:
        while True:
            await asyncio.sleep(COMPARED)
            with suppress(LabError):  # the devices notice themselves that the lab does not answer
                follow(clock, await self._clock())


def clock_like(state: ClockState) -> Clock:
    """Return a clock that shows the same as the lab's."""
    return Clock.from_reading(Reading(state.rate, state.time, RealTime().wall()))


def follow(clock: Clock, state: ClockState) -> None:
    """Set a clock's rate to that of the lab's, and its time, unless it is ahead, since devices never go back."""
    if state.rate != clock.rate:
        clock.freeze()
        if state.rate:
            clock.run(state.rate)
    clock.continue_from(state.time)


async def _note_marks(fleet_run: FleetRun, events: AsyncIterator[LabEvent | Missed]) -> None:
    """Add the marks of the lab to those of a run."""
    with suppress(LabError):
        async for event in events:
            if isinstance(event, LabEvent) and event.mark is not None:
                add_mark(fleet_run, event.mark)


def _described(fleet_run: FleetRun) -> RemoteFleetRun:
    if not isinstance(fleet_run, RemoteFleetRun):
        raise OwnProcessError(
            "accounts: on a running clock they need the lab's own process: make the lab here with Lab(…), or run the "
            "fleet on a virtual clock"
        )
    return fleet_run
