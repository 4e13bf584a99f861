"""Operations on the lab as a whole: settle, restart and reset."""

from __future__ import annotations

from labkit.control.bounds import Seconds
from labkit.control.clock import number_of
from labkit.core.custody import CURRENT
from labkit.core.errors import LabError
from labkit.platform import Platform


class LabControl:
    """Operations on the lab as a whole."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def seed(self) -> int | None:
        """Return the seed that the lab was started with, None if it has none."""
        return self._platform.context.identifiers.seed

    async def settle(self) -> None:
        """Return once every request and call is answered or waits as a long poll, and every event is handled."""
        await self._platform.settle()

    async def restart(self, down: Seconds = 0.0) -> None:
        """Simulate a power loss and restart the platform: see `Platform.restart`.

        down: seconds of lab time for which the platform refuses connections. With 0, returns once the platform listens
        again; otherwise once it refuses connections. Raises LabError for a negative or invalid `down`, and while the
        run of a fleet drives the clock.
        """
        if number_of(down, "down") < 0:
            raise LabError(f"down: expected seconds, 0 or more, not {down!r}")
        story = self._platform.story if CURRENT.get() is not None else None
        if story is None:
            self._platform.context.clock.expect_undriven()
        await self._platform.restart(float(down))
        if story is not None:
            await story.disconnected()

    async def reset(self) -> None:
        """Delete devices, datapoints, content, Keystore, users, mails, handsets, provider inboxes and the journal.

        Products, solutions and providers stay: providers with the people and applications of their settings, solutions
        with the subscriptions of their settings.
        """
        await self._platform.reset()
