"""Part of a story: the scheduler of one of its fleets, whose devices take turns with everything else in the story."""

from __future__ import annotations

import asyncio
import math
from typing import Protocol

from labkit.core.errors import LabError
from labkit.labtime.clock import Clock
from labkit.labtime.device_scheduler import DeviceScheduler, ScheduledDevice
from labkit.labtime.simulated import Order
from labkit.labtime.story_work import StoryWork


class StoryPace(DeviceScheduler, Protocol):
    """Interface of the scheduler of a whole story for its parts."""

    def order_by(self, actor: str, order: Order) -> None:
        """Draw the turns of a device from this order."""

    def remove_part(self, part: StoryFleet) -> None:
        """Forget a fleet whose run is over."""


class StoryFleet:
    """Scheduler of a fleet in a story: a DeviceScheduler.

    order: of its devices; until: lab time at which the run ends, infinity until `run`.
    """

    def __init__(self, story: StoryPace, seed: int) -> None:
        self.clock: Clock = story.clock
        self.order = Order(seed)
        self.until = math.inf
        self._custody: StoryWork | None = None  # of the run
        self._story = story
        self._stopped = False
        self._ended: asyncio.Future[bool] | None = None
        # Devices call these with each request.
        self.cancel, self.awake = story.cancel, story.awake
        self.leave, self.begin = story.leave, story.begin
        self.sleep_until, self.turn = story.sleep_until, story.turn
        self.waits_for_turn = story.waits_for_turn

    def join(self, device: ScheduledDevice) -> None:
        """Add a device. It takes its turns in the order of this part."""
        self._story.order_by(device.actor, self.order)
        self._story.join(device)

    def belongs_to(self, work: StoryWork) -> None:
        """Set the work of the run, which `run` gives away."""
        self._custody = work

    @property
    def work(self) -> StoryWork:
        """Work of the run, as the story counts it."""
        assert self._custody is not None
        return self._custody

    async def run(self, until: float | None) -> bool:
        """Let lab time move until it reaches `until` or `stop` is called. Returns whether lab time reached `until`."""
        assert until is not None
        self._ended = asyncio.get_running_loop().create_future()
        if self._stopped:
            return False
        self.until = until
        self.work.end()
        return await self._ended

    def end(self, *, reached: bool) -> None:
        """End the run. Lab time stands still until its devices have ended."""
        self.until = math.inf
        if self._ended is not None and not self._ended.done():
            self.work.begin()
            self._ended.set_result(reached)

    def stop(self) -> None:
        self._stopped = True
        self.end(reached=False)

    async def close(self) -> None:
        await self.work.settled()

    def remove(self) -> None:
        """Forget the devices of the run."""
        self._story.remove_part(self)

    def pause(self) -> None:
        raise LabError("a fleet of a story cannot pause: lab time would stand still for the whole story")

    def resume(self) -> None:
        """Do nothing: the fleet never pauses."""
