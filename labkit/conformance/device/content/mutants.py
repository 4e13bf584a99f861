"""Faults of content."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from labkit.conformance.mutant import mutant
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import Download
from labkit.devices.content import Content, ContentInfo
from labkit.http.error import HttpError

DOWNLOAD = "labkit.device_api.wire:Download.__init__"
INFO = "labkit.devices.content:Content.info"
WANTED = "labkit.device_api.content:wanted"

Part = tuple[int, int] | None


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


@mutant("DEV-CONT-11 DEV-CONT-14", WANTED)
def counted_from_one(original: Any) -> Any:
    """the first byte has position 1"""

    def move(requested: str, part: Part, size: int) -> Part:
        return (max(0, part[0] - 1), max(0, part[1] - 1)) if part and not requested.endswith("-") else part

    return _wanted(original, move)


@mutant("DEV-CONT-11", WANTED)
def end_left_out(original: Any) -> Any:
    """the byte at Y is not included"""

    def shorten(requested: str, part: Part, size: int) -> Part:
        return (part[0], part[1] - 1) if part and part[1] > part[0] and not requested.endswith("-") else part

    return _wanted(original, shorten)


@mutant("DEV-CONT-13", WANTED)
def one_byte_only(original: Any) -> Any:
    """bytes=X- brings the byte at X alone"""
    return _wanted(
        original,
        lambda requested, part, size: (part[0], part[0]) if part and requested.endswith("-") else part,
    )


@mutant("DEV-CONT-18", WANTED)
def long_ignored(original: Any) -> Any:
    """a range with a position of 19 digits or more is ignored"""
    return _wanted(
        original, lambda requested, part, size: part if len(requested.rpartition("-")[2]) < 19 else None
    )


@mutant("DEV-CONT-18", WANTED)
def never_clamped(original: Any) -> Any:
    """a range that reaches beyond the end is answered 416"""

    def refuse(requested: str, part: Part, size: int) -> Part:
        last = requested.rpartition("-")[2]
        if part and last.isdecimal() and int(last) > size - 1 + requested.startswith("bytes=-"):
            raise HttpError(416, "Range: beyond the end")
        return part

    return _wanted(original, refuse)


def _described(original: Any, change: Any) -> Any:
    async def broken(self: Content, product: str, id: str) -> ContentInfo | None:
        item = await original(self, product, id)
        return change(item) if item else None

    return broken


def _wanted(original: Any, change: Any) -> Any:
    """change: gets the header, the part that it means, and the size of the whole."""

    def broken(exchange: Exchange, size: int) -> Part:
        part: Part = change(exchange.request.headers.get("Range", ""), original(exchange, size), size)
        return part

    return broken
