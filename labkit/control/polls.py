"""Long polls that the platform holds."""

from __future__ import annotations

from labkit.platform import Platform


class PollsControl:
    """The requests that wait for a datapoint."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def count(self, product: str, identity: str, alias: str) -> int:
        """How many wait for this alias."""
        return self._platform.devices.polls.count(product, identity, alias)

    async def of_device(self, product: str, identity: str) -> int:
        """How many of a device wait, for whatever alias."""
        aliases = self._platform.devices.products.get(product).settings.resources
        return sum(self._platform.devices.polls.count(product, identity, each) for each in aliases)

    async def more_of_device(self, product: str, identity: str, count: int) -> None:
        """Return once more than `count` of a device wait."""
        while await self.of_device(product, identity) <= count:
            await self._platform.devices.polls.wait_for_next()

    async def held(self, product: str, identity: str, alias: str, count: int = 1) -> None:
        """Return once at least `count` wait for this alias."""
        await self._platform.devices.polls.wait_for_count(product, identity, alias, count)
