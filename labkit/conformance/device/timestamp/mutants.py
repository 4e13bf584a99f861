"""Faults of GET /timestamp."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.device_api.authenticate import authenticate, presented
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import reply
from labkit.devices.devices import Devices

TIMESTAMP = "labkit.device_api.timestamp:timestamp"


@mutant("DEV-TIME-1", TIMESTAMP)
def html(original: Any) -> Any:
    """the time comes as text/html"""

    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        return reply(200, str(exchange.context.clock.seconds()), "text/html; charset=utf-8")

    return broken


@mutant("DEV-TIME-1", TIMESTAMP)
def an_hour_late(original: Any) -> Any:
    """the time is that of another time zone"""

    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        return reply(200, str(exchange.context.clock.seconds() + 3600))

    return broken


@mutant("DEV-TIME-1", TIMESTAMP)
def rounded(original: Any) -> Any:
    """the time is that of the nearest second"""

    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        return reply(200, str(round(exchange.context.clock.now())))

    return broken


@mutant("DEV-TIME-2", TIMESTAMP)
def decimals(original: Any) -> Any:
    """the time has decimals"""

    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        return reply(200, f"{exchange.context.clock.now():.3f}")

    return broken


@mutant("DEV-TIME-2", TIMESTAMP)
def stands_still(original: Any) -> Any:
    """the first time that was asked for is given for ever"""
    first: list[web.StreamResponse] = []

    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        first.append(await original(exchange, devices))
        text = first[0].text  # type: ignore[attr-defined]
        return reply(200, text)

    return broken


@mutant("DEV-TIME-3 DEV-TIME-4", TIMESTAMP, smoke="authentication/devices-are-apart")
def wants_credentials(original: Any) -> Any:
    """the time is for devices only"""

    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        await authenticate(exchange, devices.registry)
        response: web.StreamResponse = await original(exchange, devices)
        return response

    return broken


@mutant("DEV-TIME-4", TIMESTAMP)
def one_credential_at_most(original: Any) -> Any:
    """two credentials are refused here too"""

    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        presented(exchange)
        response: web.StreamResponse = await original(exchange, devices)
        return response

    return broken
