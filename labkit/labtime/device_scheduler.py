"""Interfaces of schedulers for the devices of a fleet, on a running or a virtual clock."""

from __future__ import annotations

import asyncio
from typing import NamedTuple, Protocol

from labkit.labtime.clock import Clock


class Failure(NamedTuple):
    """Failure of a device.

    time: lab time; seed: of the fleet, to repeat the failure alone; trace: traceback; place: last line of the
    behaviour's file that ran, as `file:line`, or else where its `run` begins.
    """

    time: float
    identity: str
    number: int
    epoch: int
    error: str
    seed: int
    trace: str
    place: str = ""


class Ordered(Protocol):
    """Interface of what takes turns. actor: its name; number: in its fleet, from 1."""

    @property
    def actor(self) -> str: ...
    @property
    def number(self) -> int: ...


class ScheduledDevice(Ordered, Protocol):
    """Interface of a device for its scheduler.

    actor: its name in the journal; state: such as `waiting` or `failed`; asking: whether it has a pending request;
    asks_as: the actor of that request; connected: whether its connection is open; answered: number of
    answered requests on its own connection; failure: error of its behaviour, None if there is none.
    """

    @property
    def state(self) -> str: ...
    @property
    def asking(self) -> bool: ...
    @property
    def asks_as(self) -> str: ...
    @property
    def connected(self) -> bool: ...
    @property
    def answered(self) -> int: ...
    @property
    def failure(self) -> Failure | None: ...
    def enter(self, state: str) -> None:
        """Change the state of the device."""

    def disable_timeout(self) -> None:
        """Wait for the pending answer without a timeout, because the platform is delaying it."""


class DeviceScheduler(Protocol):
    """Scheduler of a fleet's devices."""

    clock: Clock

    def join(self, device: ScheduledDevice) -> None:
        """Add a device. The first thing that it awaits has to be `begin`."""

    def leave(self, device: ScheduledDevice) -> None:
        """Remove a device that has ended."""

    def cancel(self, device: ScheduledDevice, life: asyncio.Task[None]) -> None:
        """Cancel the task of a device when it is its turn."""

    async def begin(self, device: ScheduledDevice) -> None:
        """Return when the device may start."""

    async def sleep_until(self, device: ScheduledDevice, when: float) -> None:
        """Return once lab time has reached `when` and it is the device's turn.

        May raise LabError for a device that does something else meanwhile.
        """

    def awake(self, device: ScheduledDevice) -> None:
        """Check that the device is not sleeping. May raise LabError."""

    def waits_for_turn(self, device: ScheduledDevice) -> bool:
        """Return whether a device whose request has just finished must await `turn`."""

    async def turn(self, device: ScheduledDevice) -> None:
        """Return when the device may continue after a request."""

    async def run(self, until: float | None) -> bool:
        """Run the devices until lab time reaches `until` (None: for ever) or `stop` is called.

        Return whether lab time reached `until`.
        """

    async def close(self) -> None:
        """Return once the lab has processed the disconnection of all devices."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self) -> None: ...
