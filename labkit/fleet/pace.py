"""The time that a fleet lives in: on a clock that runs, or from instant to instant of a virtual one."""

from __future__ import annotations

import asyncio
from typing import Protocol

from labkit.core.clock import Clock


class Paced(Protocol):
    """What a pace needs to know of a device.

    actor: as the journal names it; number: in its fleet, from 1; asking: is a request of it under way? asks_as: whose
    actor that request has; connected: is its connection open? answered: requests that were, on connections of its own.
    """

    @property
    def actor(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def asking(self) -> bool: ...
    @property
    def asks_as(self) -> str: ...
    @property
    def connected(self) -> bool: ...
    @property
    def answered(self) -> int: ...
    def enter(self, state: str) -> None:
        """Be in this state, as the run's frame counts it."""

    def wait_for_ever(self) -> None:
        """The answer that is due may take as long as it will: the request is held."""


class Pace(Protocol):
    """Lets devices live."""

    clock: Clock

    def join(self, device: Paced) -> None:
        """A device is about to begin; `begin` has to be the first thing that it waits for."""

    def leave(self, device: Paced) -> None:
        """A device has ended."""

    def cancel(self, device: Paced, life: asyncio.Task[None]) -> None:
        """Cancel the life of a device, when it is its turn."""

    async def begin(self, device: Paced) -> None:
        """Return when the device may go on for the first time."""

    async def sleep_until(self, device: Paced, when: float) -> None:
        """Return once lab time has reached `when`, and the device may go on. May raise LabError for a device that does
        something else meanwhile.
        """

    def awake(self, device: Paced) -> None:
        """May raise LabError for a device that sleeps."""

    def waits_for_turn(self, device: Paced) -> bool:
        """An answer, or the end of a connection, has come to the device: does it have to await `turn`?"""

    async def turn(self, device: Paced) -> None:
        """Return when the device may go on after an answer."""

    async def play(self, until: float | None) -> bool:
        """Let the devices live until lab time reaches `until` (None: for ever), or `stop`. True if it was."""

    async def close(self) -> None:
        """All devices have left, in whatever they did: return once the lab knows."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self) -> None: ...
