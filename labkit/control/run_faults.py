"""Faults of a fleet's run that hit the platform: its restarts, and losses of credentials."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from labkit.core.errors import LabkitError, UnknownError
from labkit.fleet.fleet_run import OwnFleetRun
from labkit.fleet.local_run import LocalFleetRun
from labkit.fleet.plan import DeviceFaults, Loss, Restart
from labkit.labtime.clock import Clock
from labkit.platform import Platform

Begin = Callable[[], asyncio.Task[None] | None]


class FaultTasks:
    """Scheduler of what faults do to the platform. begins: lab seconds from now, and what begins a task then."""

    def __init__(self, clock: Clock, begins: Iterable[tuple[float, Begin]]) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        now = clock.now()
        self._timers = [clock.call_at(now + after, partial(self._begin, each)) for after, each in begins]

    async def stop(self) -> None:
        """Cancel what has not begun, and wait for what is in progress."""
        for timer in self._timers:
            timer.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, begin: Begin) -> None:
        task = begin()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


def restarts(
    faults: DeviceFaults, restart: Callable[[float], asyncio.Task[None]]
) -> list[tuple[float, Begin]]:
    """Return the restarts of a run's faults for FaultTasks. restart: begins one that takes so many seconds."""

    def begin(fault: Restart) -> asyncio.Task[None]:
        faults.restarted(fault)
        return restart(fault.seconds)

    return [(each.after, partial(begin, each)) for each in faults.restarts]


class RestartsAndLosses(FaultTasks):
    """Scheduler of the platform restarts and the losses of credentials that the faults of a run ask for."""

    def __init__(self, platform: Platform, fleet_run: OwnFleetRun) -> None:
        self._platform = platform
        self._fleet_run = fleet_run
        self._ignore = platform.power.notice_restarts(self._notice)
        plan, begins = fleet_run.plan, []
        if plan.faults is not None:
            begins = restarts(plan.faults, platform.power.begin_restart)
            losses = plan.faults.losses(plan.members)
            begins += [(each.after, partial(self._begin_loss, each, plan.faults)) for each in losses]
        super().__init__(platform.context.clock, begins)

    async def stop(self) -> None:
        """Cancel what has not begun, and wait for what is in progress."""
        await super().stop()
        self._ignore()

    async def _notice(self) -> None:
        """Wait until the devices have noticed a restart; otherwise real time would decide what they notice next."""
        if self._platform.context.clock.driven and isinstance(self._fleet_run, LocalFleetRun):
            await self._fleet_run.disconnected()

    def _begin_loss(self, loss: Loss, faults: DeviceFaults) -> asyncio.Task[None] | None:
        if faults.is_over(loss.name):
            return None
        self._platform.context.activity.begin()  # lab time does not advance meanwhile
        return asyncio.get_running_loop().create_task(self._lose(loss, faults))

    async def _lose(self, loss: Loss, faults: DeviceFaults) -> None:
        try:
            for each in loss.members:
                with suppress(UnknownError):  # a device that was never provisioned has none
                    product = self._fleet_run.plan.product
                    await self._platform.devices.registry.forget_credentials(product, each.identity)
                    faults.lost(loss, each)
        except LabkitError as error:
            self._platform.context.journal.record_error(error)
        finally:
            self._platform.context.activity.end()
