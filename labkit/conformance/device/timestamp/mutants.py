"""Faults of GET /timestamp."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.device_api.authenticate import authenticate, presented
from labkit.device_api.exchange import Exchange
from labkit.device_api.rooms import Rooms
from labkit.device_api.wire import reply

TIMESTAMP = "labkit.device_api.timestamp:timestamp"


@mutant("DEV-TIME-1", TIMESTAMP)
def html(original: Any) -> Any:
    """the time comes as text/html"""

    async def broken(exchange: Exchange, rooms: Rooms) -> web.StreamResponse:
        return reply(200, str(rooms.clock.seconds()), "text/html; charset=utf-8")

    return broken


@mutant("DEV-TIME-1", TIMESTAMP)
def an_hour_late(original: Any) -> Any:
    """the time is that of another time zone"""

    async def broken(exchange: Exchange, rooms: Rooms) -> web.StreamResponse:
        return reply(200, str(rooms.clock.seconds() + 3600))

    return broken


@mutant("DEV-TIME-2", TIMESTAMP)
def decimals(original: Any) -> Any:
    """the time has decimals"""

    async def broken(exchange: Exchange, rooms: Rooms) -> web.StreamResponse:
        return reply(200, f"{rooms.clock.now():.3f}")

    return broken


@mutant("DEV-TIME-2", TIMESTAMP)
def stands_still(original: Any) -> Any:
    """the first time that was asked for is given for ever"""
    first: list[web.StreamResponse] = []

    async def broken(exchange: Exchange, rooms: Rooms) -> web.StreamResponse:
        first.append(await original(exchange, rooms))
        text = first[0].text  # type: ignore[attr-defined]
        return reply(200, text)

    return broken


@mutant("DEV-TIME-3 DEV-TIME-4", TIMESTAMP, smoke="authentication/devices-are-apart")
def wants_credentials(original: Any) -> Any:
    """the time is for devices only"""

    async def broken(exchange: Exchange, rooms: Rooms) -> web.StreamResponse:
        await authenticate(exchange, rooms.registry)
        response: web.StreamResponse = await original(exchange, rooms)
        return response

    return broken


@mutant("DEV-TIME-4", TIMESTAMP)
def one_credential_at_most(original: Any) -> Any:
    """two credentials are refused here too"""

    async def broken(exchange: Exchange, rooms: Rooms) -> web.StreamResponse:
        presented(exchange)
        response: web.StreamResponse = await original(exchange, rooms)
        return response

    return broken
