"""List, describe and download content: GET /provision/download (document 1, Endpoints)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import AsyncIterator

from labkit.core.errors import LabError
from labkit.device_api.authenticate import authenticate, require_still_authenticated
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import CSV, Download, reply
from labkit.devices.content import PIECE, ContentInfo
from labkit.devices.devices import Devices
from labkit.devices.registry import DeviceRecord
from labkit.http.error import HttpError
from labkit.http.reply import Answer

# Possessive quantifiers (`+`) prevent backtracking, which is quadratic in the length of the header.
RANGE = re.compile(r"bytes=\s*+([0-9]*+)\s*+-\s*+([0-9]*+)\s*+", re.IGNORECASE)
BEYOND = 10**18  # a position beyond the end of any content


async def download(exchange: Exchange, devices: Devices) -> Answer:
    """Answer with the list without `id`, the meta fields with `info=true`, otherwise the content itself."""
    device = await authenticate(exchange, devices.registry)
    query = dict(exchange.query())
    wants_info = "id" in query and query.get("info") == "true"
    expect_product(exchange, query, 400 if wants_info else 403)
    if "id" not in query:
        items = await devices.content.list(device.product)
        return reply(200, "".join(f"{item.id}\r\n" for item in items), CSV)
    item = await devices.content.info(device.product, query["id"] or "")
    if item is None:
        raise HttpError(404, "no such content")
    return reply(200, info_line(item), CSV) if wants_info else await _send(exchange, devices, device, item)


def expect_product(exchange: Exchange, query: dict[str, str | None], status: int) -> None:
    """Raise HttpError with `status` where the query names another product."""
    for name in ("vendor", "model"):
        if query.get(name, exchange.product.id) != exchange.product.id:
            raise HttpError(status, f"{name} is not this product")


def info_line(item: ContentInfo) -> str:
    """Return content type, size in bytes, Unix seconds of the update and description as CSV (RFC 4180)."""
    line = io.StringIO(newline="")
    csv.writer(line).writerow([item.type, item.size, item.updated, item.description])
    return line.getvalue()


async def _send(exchange: Exchange, devices: Devices, device: DeviceRecord, item: ContentInfo) -> Answer:
    part = requested_range(exchange, item.size)
    first, last = part if part is not None else (0, item.size - 1)
    headers = {"Content-Type": item.type}
    if part is not None:
        headers |= {"Accept-Ranges": "bytes", "Content-Range": f"bytes {first}-{last}/{item.size}"}

    async def pieces() -> AsyncIterator[bytes]:
        start = first
        while start <= last:
            end = min(last, start - start % PIECE + PIECE - 1)
            piece = await devices.content.read(device.product, item.id, start, end)
            if await devices.content.info(device.product, item.id) != item:
                raise LabError(f"content {item.id!r} was changed while a device downloaded it")
            yield piece
            start = end + 1

    require_still_authenticated(exchange)
    if exchange.authorization is not None and exchange.request.transport is not None:
        exchange.authorization.end = exchange.request.transport.abort
    status = 200 if part is None else exchange.context.wire.range_status
    response = Download(status, exchange.context.wire.download_framing, last - first + 1, headers)
    if (faults := exchange.context.faults.requests) is not None:  # the last moment to change it
        changed = await faults.change_answer(exchange, response)
        if not isinstance(changed, Download):
            return changed
    return await response.send(exchange.request, pieces())


def requested_range(exchange: Exchange, size: int) -> tuple[int, int] | None:
    """Return the first and last position of the requested Range, both included; None for the whole content.

    A Range that is malformed, of another unit or of several parts is ignored (RFC 9110 14.2). Raises HttpError
    416 where it cannot be satisfied, and 400 for `bytes=-`, where neither X nor Y is present.
    """
    if "If-Range" in exchange.request.headers:
        return None  # no validator is ever sent, so none can match (RFC 9110 13.1.5)
    ranges = exchange.request.headers.getall("Range", ())
    match = RANGE.fullmatch(ranges[0]) if len(ranges) == 1 else None
    if match is None:
        return None
    x, y = map(_position, match.groups())
    if x is None and y is None:
        if exchange.context.wire.strict_range:
            raise HttpError(400, "Range: at least one of X and Y must be present")
        return None
    if x is None:  # the last y bytes
        first, last = max(0, size - (y or 0)), size - 1
    else:
        first, last = x, size - 1 if y is None else min(y, size - 1)
        if y is not None and x > y:
            return None
    if first >= size:
        raise HttpError(416, "Range: beyond the end of the content", {"Content-Range": f"bytes */{size}"})
    return first, last


def _position(digits: str) -> int | None:
    """Return the number in a Range, limited to BEYOND; None for no digits."""
    significant = digits.lstrip("0")
    if len(significant) > 18:
        return BEYOND
    return int(significant or "0") if digits else None
