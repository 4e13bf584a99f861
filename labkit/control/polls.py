"""Operations on long polls: requests that the platform keeps open until a resource has a new value."""

from __future__ import annotations

from labkit.control.bounds import Count, Id
from labkit.platform import Platform


class PollsControl:
    """Counts of the open long polls of a lab, and waits for them."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def count(self, product: Id, identity: Id, alias: Id) -> int:
        """Return the number of open polls of one alias of a device."""
        return self._platform.devices.polls.count(product, identity, alias)

    async def count_of_device(self, product: Id, identity: Id) -> int:
        """Return the number of open polls of a device, for all aliases."""
        aliases = self._platform.devices.products.get(product).settings.resources
        return sum(self._platform.devices.polls.count(product, identity, each) for each in aliases)

    async def wait_for_more_of_device(self, product: Id, identity: Id, count: Count) -> None:
        """Return once a device has more than `count` open polls, for all aliases."""
        while await self.count_of_device(product, identity) <= count:
            await self._platform.devices.polls.wait_for_next()

    async def wait_for_count(self, product: Id, identity: Id, alias: Id, count: Count = 1) -> None:
        """Return once one alias of a device has at least `count` open polls."""
        await self._platform.devices.polls.wait_for_count(product, identity, alias, count)
