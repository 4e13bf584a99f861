"""A fault of GET /timestamp that no row can say."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import reply
from labkit.devices.devices import Devices


@mutant("DEV-TIME-1", "labkit.device_api.timestamp:timestamp", smoke="timestamp/needs-no-credentials")
def rounded(original: Any) -> Any:
    """the time is that of the nearest second"""

    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        return reply(200, str(round(exchange.context.clock.now())))

    return broken
