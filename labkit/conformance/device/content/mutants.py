"""Faults of content."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from labkit.conformance.mutant import mutant
from labkit.device_api.wire import Download
from labkit.devices.content import Content, ContentInfo

DOWNLOAD = "labkit.device_api.wire:Download.__init__"
INFO = "labkit.devices.content:Content.info"


@mutant("DEV-CONT-3 DEV-CONT-4", INFO)
def milliseconds(original: Any) -> Any:
    """info has the time of update in milliseconds"""
    return _described(original, lambda item: replace(item, updated=item.updated * 1000))


@mutant("DEV-CONT-4", "labkit.devices.content:put_item")
def time_kept(original: Any) -> Any:
    """a replaced content keeps the time of the first one"""
    first: dict[tuple[str, str], int] = {}

    def broken(connection: Connection, product: str, info: ContentInfo, data: bytes) -> None:
        updated = first.setdefault((product, info.id), info.updated)
        original(connection, product, replace(info, updated=updated), data)

    return broken


@mutant("DEV-CONT-4", "labkit.devices.content:Content.remove")
def never_removed(original: Any) -> Any:
    """a removed content stays"""

    async def broken(self: Content, product: str, id: str) -> None:
        pass

    return broken


@mutant("DEV-CONT-7 DEV-CONT-9 DEV-CONT-10", "labkit.devices.content:Content.read")
def byte_lost(original: Any) -> Any:
    """every piece of a download lacks its last byte"""

    async def broken(self: Content, product: str, id: str, first: int, last: int) -> bytes:
        data: bytes = await original(self, product, id, first, last)
        return data[:-1]

    return broken


@mutant("DEV-CONT-9", DOWNLOAD)
def one_more(original: Any) -> Any:
    """Content-Length is one more than what comes"""

    def broken(self: Download, status: int, framing: str, size: int, headers: Any) -> None:
        original(self, status, framing, size + 1, headers)

    return broken


@mutant("DEV-CONT-10", DOWNLOAD)
def length_only(original: Any) -> Any:
    """a download has Content-Length alone"""

    def broken(self: Download, status: int, framing: str, size: int, headers: Any) -> None:
        original(self, status, "length", size, headers)

    return broken


@mutant("DEV-CONT-10", DOWNLOAD)
def chunked_in_name(original: Any) -> Any:
    """a download says chunked, but its body is not"""

    def broken(self: Download, status: int, framing: str, size: int, headers: Any) -> None:
        original(self, status, "length", size, {**headers, "Transfer-Encoding": "chunked"})

    return broken


def _described(original: Any, change: Any) -> Any:
    async def broken(self: Content, product: str, id: str) -> ContentInfo | None:
        item = await original(self, product, id)
        return change(item) if item else None

    return broken
