"""A fault of GET /timestamp that no row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import patch
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import reply


@patch("DEV-TIME-1", "labkit.device_api.timestamp:timestamp", smoke="timestamp/needs-no-credentials")
async def rounded(original: Any, exchange: Exchange, devices: Any) -> Any:
    """the time is that of the nearest second"""
    return reply(200, str(round(exchange.context.clock.now())))
