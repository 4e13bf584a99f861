"""Clients of the websockets of the probe."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from labkit.conformance.device_client import GRACE
from labkit.conformance.probe import PROBE, Probe
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch
from labkit.fleet.websocket import WebsocketClient, WebsocketError, open_websocket

KEY = b64encode(b"0123456789abcdef").decode()
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": KEY,
}


@asynccontextmanager
async def opened(
    target: Target, key: str, solution: str = PROBE, *, query: str = "", **options: Any
) -> AsyncIterator[WebsocketClient]:
    """Provide an open websocket of the probe's route. Raises Mismatch if it is refused."""
    domain = target.client(solution).name
    try:
        socket = await open_websocket(target.address, domain, f"/socket/{key}{query}", **options)
    except WebsocketError as error:
        raise Mismatch("the handshake", "that it is answered 101", str(error)) from None
    try:
        yield socket
    finally:
        await socket.close()


async def message(socket: WebsocketClient) -> str | bytes:
    """Return the next message. Raises Mismatch if none comes."""
    try:
        async with asyncio.timeout(GRACE):
            found = await socket.receive()
    except TimeoutError:
        raise Mismatch("a message", "that one comes", "none came") from None
    if found is None:
        raise Mismatch("a message", "that one comes", f"the end, with code {socket.close_code}")
    return found


async def answer(socket: WebsocketClient, text: object) -> str | bytes:
    """Send a message and return the next one."""
    try:
        await socket.send(text)
    except WebsocketError as error:
        raise Mismatch("the websocket", "that it is open", str(error)) from None
    return await message(socket)


async def end(socket: WebsocketClient) -> int | None:
    """Return the code with which the server ends a websocket. Raises Mismatch if it does not."""
    try:
        async with asyncio.timeout(GRACE):
            while await socket.receive() is not None:
                pass
    except TimeoutError:
        raise Mismatch("the websocket", "that it ends", "it is open") from None
    return socket.close_code


async def steps(target: Target, key: str, count: int, solution: str = PROBE) -> list[str]:
    """Return the types of a websocket's events, at least `count`. Raises Mismatch if fewer come."""
    probe, waited = Probe(target, solution), 0.0
    while True:
        found: list[str] = (await probe.ask("GET", f"/sockets/{key}")).get("steps") or []
        if len(found) >= count:
            return found
        if waited > GRACE:
            raise Mismatch("events of the websocket", f"{count} of them", found)
        waited += 0.02
        await asyncio.sleep(0.02)


async def socket_id(target: Target, key: str, solution: str = PROBE) -> str:
    """Return the id of the websocket of a key, once its script has run."""
    await steps(target, key, 1, solution)
    return str((await Probe(target, solution).ask("GET", f"/sockets/{key}"))["id"])
