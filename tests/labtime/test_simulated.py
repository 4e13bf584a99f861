"""The scheduler of a virtual clock, with stub devices."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock
from labkit.labtime.holding import Holding
from labkit.labtime.simulated import Simulated
from tests.guard import PATIENCE


@dataclass
class Device:
    """Stub of a device whose request the platform delays."""

    actor: str = "p/a"
    state: str = "running"
    asks_as: str = "p/a"
    number: int = 1
    answered: int = 0
    asking: bool = False
    connected: bool = True
    failure: None = None

    def enter(self, state: str) -> None:
        pass

    def disable_timeout(self) -> None:
        pass


async def test_a_run_ends_without_the_answer_of_a_device_that_left() -> None:
    """It is stopped at the instant at which the platform releases the request."""
    clock, activity, device = Clock(0), Activity(), Device()
    holding = Holding(activity)
    pace = Simulated(clock, holding, activity, seed=7)
    pace.join(device)

    async def live() -> None:
        await pace.begin(device)
        device.asking = True
        activity.begin()
        holding.begin(device.actor)

    def release() -> None:
        holding.end(device.actor)
        activity.end()
        pace.stop()

    life = asyncio.ensure_future(live())
    clock.call_at(clock.now() + 5, release)
    with clock.drive("a test"):
        assert not await pace.run(clock.now() + 10)
    await life
    pace.leave(device)
    async with asyncio.timeout(PATIENCE):
        await pace.close()
