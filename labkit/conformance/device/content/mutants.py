"""Faults of content."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from labkit.conformance.mutant import mutant
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import CSV, TEXT, Download
from labkit.devices.content import Content, ContentInfo
from labkit.http.error import HttpError
from labkit.settings import LabSettings, Wire

DOWNLOAD = "labkit.device_api.wire:Download.__init__"
INFO = "labkit.devices.content:Content.info"
LINE = "labkit.device_api.content:info_line"
REPLY = "labkit.device_api.wire:reply"
WANTED = "labkit.device_api.content:wanted"
WIRES = "labkit.settings:LabSettings.wires"

Part = tuple[int, int] | None


@mutant("DEV-CONT-1", "labkit.devices.content:Content.list")
def one_unlisted(original: Any) -> Any:
    """the list leaves one content out"""

    async def broken(self: Content, product: str) -> list[ContentInfo]:
        items: list[ContentInfo] = await original(self, product)
        return items[1:]

    return broken


@mutant("DEV-CONT-1 DEV-CONT-3", REPLY)
def plain_text(original: Any) -> Any:
    """list and info come as text/plain"""
    return lambda status, body=b"", kind=TEXT, headers=None: original(
        status, body, kind.replace("csv", "plain"), headers
    )


@mutant("DEV-CONT-2", REPLY)
def no_last_line_end(original: Any) -> Any:
    """the last line of the list has no line end"""

    def broken(status: int, body: bytes | str = b"", type: str = "text/plain", headers: Any = None) -> Any:
        return original(
            status, body.rstrip("\r\n") if isinstance(body, str) and type == CSV else body, type, headers
        )

    return broken


@mutant("DEV-CONT-2", REPLY)
def lf_alone(original: Any) -> Any:
    """the lines of the list end with LF"""
    return lambda status, body=b"", kind=TEXT, headers=None: original(
        status, body.replace("\r\n", "\n") if kind == CSV else body, kind, headers
    )


@mutant("DEV-CONT-3", LINE)
def size_before_type(original: Any) -> Any:
    """info has the size before the content type"""

    def broken(item: ContentInfo) -> str:
        first, second, rest = original(item).split(",", 2)
        return f"{second},{first},{rest}"

    return broken


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


@mutant("DEV-CONT-5", LINE)
def unquoted(original: Any) -> Any:
    """a description is written as it is"""
    return lambda item: f"{item.type},{item.size},{item.updated},{item.description}\r\n"


@mutant("DEV-CONT-5", INFO)
def dash_for_nothing(original: Any) -> Any:
    """a missing description shows as a dash"""
    return _described(original, lambda item: replace(item, description=item.description or "-"))


@mutant("DEV-CONT-6", "labkit.device_api.exchange:Exchange.query")
def any_info(original: Any) -> Any:
    """info counts as true whatever its value"""

    def broken(self: Exchange) -> list[tuple[str, str | None]]:
        return [(name, "true" if name == "info" else value) for name, value in original(self)]

    return broken


@mutant("DEV-CONT-7 DEV-CONT-9 DEV-CONT-10", "labkit.devices.content:Content.read")
def byte_lost(original: Any) -> Any:
    """every piece of a download lacks its last byte"""

    async def broken(self: Content, product: str, id: str, first: int, last: int) -> bytes:
        data: bytes = await original(self, product, id, first, last)
        return data[:-1]

    return broken


@mutant("DEV-CONT-8", DOWNLOAD)
def any_bytes(original: Any) -> Any:
    """every download is application/octet-stream"""
    return _headed(original, lambda headers: {**headers, "Content-Type": "application/octet-stream"})


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


@mutant("DEV-CONT-11", WIRES, from_start=True)
def partial_content(original: Any) -> Any:
    """a range is answered 206"""
    return _wired(original, range_status=206)


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


@mutant("DEV-CONT-12", WANTED)
def suffix_from_start(original: Any) -> Any:
    """bytes=-Y brings the first bytes up to Y"""

    def turn(requested: str, part: Part, size: int) -> Part:
        return (0, part[1] - part[0]) if part and requested.startswith("bytes=-") else part

    return _wanted(original, turn)


@mutant("DEV-CONT-13", WANTED)
def one_byte_only(original: Any) -> Any:
    """bytes=X- brings the byte at X alone"""
    return _wanted(
        original,
        lambda requested, part, size: (part[0], part[0]) if part and requested.endswith("-") else part,
    )


@mutant("DEV-CONT-14", DOWNLOAD)
def without_content_range(original: Any) -> Any:
    """the answer to a range has no Content-Range"""
    return _headed(original, lambda headers: {n: v for n, v in headers.items() if n != "Content-Range"})


@mutant("DEV-CONT-14", DOWNLOAD)
def without_accept_ranges(original: Any) -> Any:
    """the answer to a range has no Accept-Ranges"""
    return _headed(original, lambda headers: {n: v for n, v in headers.items() if n != "Accept-Ranges"})


@mutant("DEV-CONT-15 DEV-CONT-16", WIRES, from_start=True)
def both_may_lack(original: Any) -> Any:
    """bytes=- is ignored"""
    return _wired(original, strict_range=False)


@mutant("DEV-CONT-16", WANTED)
def unsatisfiable_at_once(original: Any) -> Any:
    """bytes=- is answered 416"""

    def broken(exchange: Exchange, size: int) -> Part:
        if exchange.request.headers.get("Range") == "bytes=-":
            raise HttpError(416, "Range: nothing")
        part: Part = original(exchange, size)
        return part

    return broken


@mutant("DEV-CONT-17", WANTED)
def malformed_refused(original: Any) -> Any:
    """a range that cannot be read is answered 416"""

    def refuse(requested: str, part: Part, size: int) -> Part:
        if requested and part is None:
            raise HttpError(416, "Range: cannot be read")
        return part

    return _wanted(original, refuse)


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


@mutant("DEV-CONT-19", WANTED)
def beyond_is_ignored(original: Any) -> Any:
    """a range beyond the end brings everything"""

    def broken(exchange: Exchange, size: int) -> Part:
        try:
            part: Part = original(exchange, size)
        except HttpError as refusal:
            if refusal.status != 416:
                raise
            return None
        return part

    return broken


@mutant("DEV-CONT-20", INFO)
def first_for_unknown(original: Any) -> Any:
    """an unknown id brings some other content"""

    async def broken(self: Content, product: str, id: str) -> ContentInfo | None:
        found: ContentInfo | None = await original(self, product, id)
        return found or await original(self, product, "alphabet.txt")

    return broken


@mutant("DEV-CONT-21", "labkit.device_api.content:expect_product")
def any_vendor(original: Any) -> Any:
    """vendor and model may name another product"""
    return lambda exchange, query, status: None


def _described(original: Any, change: Any) -> Any:
    async def broken(self: Content, product: str, id: str) -> ContentInfo | None:
        item = await original(self, product, id)
        return change(item) if item else None

    return broken


def _headed(original: Any, change: Any) -> Any:
    def broken(self: Download, status: int, framing: str, size: int, headers: Any) -> None:
        original(self, status, framing, size, change(dict(headers)))

    return broken


def _wired(original: Any, **switches: object) -> Any:
    def broken(self: LabSettings) -> Wire:
        wire: Wire = original(self)
        return wire.model_copy(update=switches)

    return broken


def _wanted(original: Any, change: Any) -> Any:
    """change: gets the header, the part that it means, and the size of the whole."""

    def broken(exchange: Exchange, size: int) -> Part:
        part: Part = change(exchange.request.headers.get("Range", ""), original(exchange, size), size)
        return part

    return broken
