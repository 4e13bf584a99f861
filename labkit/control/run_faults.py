"""Faults of a fleet's run that hit the platform: its restarts, and losses of credentials."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from labkit.core.errors import LabkitError, UnknownError
from labkit.fleet.cluster import ClusterFleetRun
from labkit.fleet.local_run import LocalFleetRun
from labkit.fleet.plan import DeviceFaults, Loss, Restart
from labkit.platform import Platform


class Restarts:
    """Scheduler of the platform restarts that the faults of a run ask for."""

    def __init__(self, platform: Platform, fleet_run: LocalFleetRun | ClusterFleetRun) -> None:
        self._platform = platform
        self._fleet_run = fleet_run
        self._tasks: set[asyncio.Task[None]] = set()
        self._ignore = platform.power.notice_restarts(self._notice)
        clock, faults = platform.context.clock, fleet_run.plan.faults
        self._timers = []
        for each in () if faults is None else faults.restarts:
            begin = partial(self._begin, each, faults)
            self._timers.append(clock.call_at(clock.now() + (each.after or 0.0), begin))

    async def stop(self) -> None:
        """Cancel the restarts that have not begun, and wait for one in progress."""
        for timer in self._timers:
            timer.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._ignore()

    def _begin(self, fault: Restart, faults: DeviceFaults | None) -> None:
        if faults is not None:
            faults.restarted(fault)
        task = self._platform.power.begin_restart(fault.seconds)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _notice(self) -> None:
        """Wait until the devices have noticed a restart; otherwise real time would decide what they notice next."""
        if self._platform.context.clock.driven and isinstance(self._fleet_run, LocalFleetRun):
            await self._fleet_run.disconnected()


class Losses:
    """Scheduler of the losses of credentials that the faults of a run ask for."""

    def __init__(self, platform: Platform, fleet_run: LocalFleetRun | ClusterFleetRun) -> None:
        self._platform = platform
        self._product = fleet_run.plan.product
        self._tasks: set[asyncio.Task[None]] = set()
        clock, faults = platform.context.clock, fleet_run.plan.faults
        self._timers = []
        if faults is not None:
            for each in faults.losses(fleet_run.plan.members):
                begin = partial(self._begin, each, faults)
                self._timers.append(clock.call_at(clock.now() + each.after, begin))

    async def stop(self) -> None:
        """Cancel the losses that have not begun, and wait for one in progress."""
        for timer in self._timers:
            timer.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, loss: Loss, faults: DeviceFaults) -> None:
        if faults.is_over(loss.name):
            return
        self._platform.context.activity.begin()  # lab time does not advance meanwhile
        task = asyncio.get_running_loop().create_task(self._lose(loss, faults))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _lose(self, loss: Loss, faults: DeviceFaults) -> None:
        try:
            for each in loss.members:
                with suppress(UnknownError):  # a device that was never provisioned has none
                    await self._platform.devices.registry.forget_credentials(self._product, each.identity)
                    faults.lost(loss, each)
        except LabkitError as error:
            self._platform.context.journal.record_error(error)
        finally:
            self._platform.context.activity.end()
