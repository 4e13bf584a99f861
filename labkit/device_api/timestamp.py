"""The server's clock: GET /timestamp (document 1, Endpoints)."""

from __future__ import annotations

from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import reply
from labkit.devices.devices import Devices
from labkit.http.reply import Answer


async def timestamp(exchange: Exchange, devices: Devices) -> Answer:
    """Answer with lab time in whole Unix seconds; needs no authentication."""
    await exchange.acts_as()
    return reply(200, str(exchange.context.clock.seconds()))
