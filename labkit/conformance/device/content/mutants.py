"""Faults of content."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import always, change_arguments, change_result
from labkit.conformance.mutant import mutant, patch
from labkit.devices.content import ContentInfo

CONTENT = "labkit.devices.content:Content"
DOWNLOAD = "labkit.device_api.wire:Download.__init__"

milliseconds = patch(
    "DEV-CONT-3 DEV-CONT-4", f"{CONTENT}.info", "info has the time of update in milliseconds"
)(change_result(lambda item: item and replace(item, updated=item.updated * 1000)))
never_removed = patch("DEV-CONT-4", f"{CONTENT}.remove", "a removed content stays", alone=True)(always(None))
byte_lost = patch(
    "DEV-CONT-7 DEV-CONT-9 DEV-CONT-10", f"{CONTENT}.read", "every piece of a download lacks its last byte"
)(change_result(lambda data: data[:-1]))
one_more = patch("DEV-CONT-9", DOWNLOAD, "Content-Length is one more than the number of bytes sent")(
    change_arguments(size=lambda size: size + 1)
)
length_only = patch("DEV-CONT-10", DOWNLOAD, "a download has Content-Length alone")(
    change_arguments(framing="length")
)
chunked_in_name = patch("DEV-CONT-10", DOWNLOAD, "a download says chunked, but its body is not")(
    change_arguments(framing="length", headers=lambda given: {**given, "Transfer-Encoding": "chunked"})
)


@mutant("DEV-CONT-4", "labkit.devices.content:put_item")
def time_kept(original: Any) -> Any:
    """a replaced content keeps the time of the first one"""
    first: dict[tuple[str, str], int] = {}

    def broken(connection: Any, product: str, info: ContentInfo, data: bytes) -> None:
        updated = first.setdefault((product, info.id), info.updated)
        original(connection, product, replace(info, updated=updated), data)

    return broken


@mutant("DEV-CONT-23", "labkit.devices.content:Content.info")
def never_another(original: Any) -> Any:
    """a download goes on with the same content after it is replaced or removed"""
    first: dict[tuple[str, str], ContentInfo | None] = {}

    async def broken(self: Any, product: str, id: str) -> ContentInfo | None:
        if (product, id) not in first:
            first[product, id] = await original(self, product, id)
        return first[product, id]

    return broken


longer_id = patch(
    "DEV-CONT-20",
    "labkit.devices.content:item_info",
    "an id with one more character at its end selects the content too",
)(
    lambda original, connection, product, named: (
        original(connection, product, named) or original(connection, product, named[:-1])
    )
)
