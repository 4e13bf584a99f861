"""Scheduler of a fleet on a running clock (wall or scaled), where devices run concurrently."""

from __future__ import annotations

import asyncio

from labkit.labtime.clock import Clock
from labkit.labtime.device_scheduler import ScheduledDevice


class Live:
    """Scheduler that runs each device as soon as its sleep or request is over."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._open = asyncio.Event()  # cleared while the run is paused
        self._open.set()
        self._over = asyncio.Event()

    def join(self, device: ScheduledDevice) -> None:
        """Do nothing: a device starts at once."""

    def leave(self, device: ScheduledDevice) -> None:
        """Do nothing: devices do not depend on each other."""

    def cancel(self, device: ScheduledDevice, life: asyncio.Task[None]) -> None:
        life.cancel()

    async def begin(self, device: ScheduledDevice) -> None:
        await self._wait_if_paused(device)

    async def sleep_until(self, device: ScheduledDevice, when: float) -> None:
        if when <= self.clock.now():
            await asyncio.sleep(0)  # lets the other devices run
        else:
            await self.clock.sleep_until(when)
        await self._wait_if_paused(device)

    def awake(self, device: ScheduledDevice) -> None:
        """Do nothing: sleeping devices are not checked."""

    def waits_for_turn(self, device: ScheduledDevice) -> bool:
        return not self._open.is_set()

    async def turn(self, device: ScheduledDevice) -> None:
        await self._wait_if_paused(device)

    async def run(self, until: float | None) -> bool:
        timer = None if until is None else self.clock.call_at(until, self._over.set)
        try:
            await self._over.wait()
        finally:
            if timer is not None:
                timer.cancel()
        return until is not None and self.clock.now() >= until

    def stop(self) -> None:
        self._over.set()

    def pause(self) -> None:
        self._open.clear()

    def resume(self) -> None:
        self._open.set()

    async def close(self) -> None:
        """Do nothing: on a running clock nothing depends on when the lab processes disconnections."""

    async def _wait_if_paused(self, device: ScheduledDevice) -> None:
        """Return once the run is not paused."""
        if not self._open.is_set():
            device.enter("paused")
            await self._open.wait()
            device.enter("running")
