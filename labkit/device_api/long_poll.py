"""Long polling: a read that waits for the next datapoint of one alias (document 1, Long polling).

`devices.polls` defines which datapoint answers a poll, and which values a client can miss.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial

from labkit.device_api import forms
from labkit.device_api.authenticate import require_still_authenticated
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import FORM, Delivered, nothing
from labkit.devices.deliveries import PollDeliveries
from labkit.devices.devices import Devices
from labkit.devices.polls import Poll
from labkit.devices.registry import DeviceRecord
from labkit.devices.state import Stored
from labkit.http.connection import Connection
from labkit.http.error import HttpError
from labkit.http.reply import Answer

LONGEST = 300_000  # milliseconds
LATEST_TIMESTAMP = 253_402_300_799  # 9999-12-31T23:59:59Z
DIGITS = re.compile(r"[0-9]{1,12}")


async def wait(exchange: Exchange, devices: Devices, device: DeviceRecord, aliases: Sequence[str]) -> Answer:
    """Answer 200 with the next datapoint, or 304 after Request-Timeout milliseconds of lab time.

    Raises HttpError 400, and 401 where the device loses its authorization while it waits.
    """
    headers = exchange.request.headers
    timeout = milliseconds(headers["Request-Timeout"])
    if 1 < timeout < 100 or timeout in (120, 180, 240, 300):
        hint = f"Request-Timeout: {timeout} milliseconds are {timeout / 1000:g} s; did you mean {timeout}000?"
        exchange.add_detail(hint=hint)
    since = timestamp(headers["If-Modified-Since"]) if "If-Modified-Since" in headers else None
    if len(aliases) > 1:
        raise HttpError(400, "a long poll reads one alias")
    until = exchange.context.clock.now() + timeout / 1000
    key = (device.product, device.identity, aliases[0])
    exchange.identify(device.identity)
    exchange.connection.watch_input()
    deliveries = exchange.connection.deliveries
    last = None
    if since is not None and isinstance(deliveries, PollDeliveries):
        last = deliveries.last_number(key, since)
    poll = devices.polls.open(key, since, last)
    if exchange.authorization is not None:
        exchange.authorization.end = partial(devices.polls.end, poll)
    try:
        found = None
        if aliases[0] in exchange.product.settings.resources:
            found = await devices.polls.find_stored(poll)
        else:  # ignored, as in reads and writes: the poll waits in vain
            exchange.add_unknown(aliases)
        if found is None:
            found = await devices.polls.wait(poll, until)
    finally:
        devices.polls.close(poll)
    require_still_authenticated(exchange)
    return nothing(exchange.context.wire, 304) if found is None else answer(exchange, devices, poll, found)


def answer(exchange: Exchange, devices: Devices, poll: Poll, found: Stored) -> Answer:
    """Return a 200 reply with a datapoint, which is recorded as delivered once it is written."""
    alias, timestamp, value = found.point
    as_date = exchange.context.wire.last_modified == "http-date"
    return Delivered(
        forms.encode([(alias, value)]),
        FORM,
        {"Last-Modified": exchange.context.dates.format(timestamp) if as_date else str(timestamp)},
        partial(record_delivery, exchange.connection, devices, poll, found),
    )


async def record_delivery(connection: Connection, devices: Devices, poll: Poll, found: Stored) -> None:
    """Record that a poll's answer was written to its connection."""
    deliveries = connection.deliveries
    if not isinstance(deliveries, PollDeliveries):
        deliveries = connection.deliveries = PollDeliveries(devices.state)
    await deliveries.add(poll.key, found, None if poll.live else poll.since)


def milliseconds(text: str) -> int:
    """Parse Request-Timeout. Raises HttpError 400."""
    if not DIGITS.fullmatch(text.strip()) or int(text) > LONGEST:
        raise HttpError(400, f"Request-Timeout: expected 0 to {LONGEST} milliseconds ({LONGEST // 1000} s)")
    return int(text)


def timestamp(text: str) -> int:
    """Parse If-Modified-Since: Unix seconds or an HTTP-date. Raises HttpError 400."""
    if DIGITS.fullmatch(text.strip()) and int(text) <= LATEST_TIMESTAMP:
        return int(text)
    try:
        moment = parsedate_to_datetime(text)  # of the three forms (RFC 9110 5.6.7), asctime's names no zone
        if not moment.utcoffset():  # nor does an HTTP-date have another one
            return max(0, int(moment.replace(tzinfo=UTC).timestamp()))
    except (ValueError, TypeError, OverflowError, IndexError):
        pass
    raise HttpError(400, "If-Modified-Since: expected Unix seconds or an HTTP-date")
