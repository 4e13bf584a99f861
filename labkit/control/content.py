"""Operations on content: the files that devices of a product can download."""

from __future__ import annotations

from labkit.control.bounds import Content, Id, Line
from labkit.devices.content import ContentInfo as ContentInfo
from labkit.platform import Platform


class ContentControl:
    """Operations on the content of products. Each raises LabError for an unknown product."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def all(self, product: Id) -> list[ContentInfo]:
        """Return the content items of a product, by id."""
        return await self._platform.devices.content.list(self._known(product))

    async def add(
        self,
        product: Id,
        id: Id,
        data: Content,
        type: Line = "application/octet-stream",
        description: Line = "",
    ) -> ContentInfo:
        """Add or replace an item. type: its Content-Type. Raises LabError for an invalid id, type or size."""
        added = await self._platform.devices.content.add(self._known(product), id, data, type, description)
        self._platform.context.journal.marks.add("release", id)
        return added

    async def remove(self, product: Id, id: Id) -> None:
        """Remove an item. Raises UnknownError if there is none with this id."""
        await self._platform.devices.content.remove(self._known(product), id)

    def _known(self, product: str) -> str:
        return self._platform.devices.products.get(product).id
