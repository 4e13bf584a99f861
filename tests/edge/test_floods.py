"""Work for a client that sends without end until another client has its answer: counts, no times."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from labkit.bench.floods import CHUNKS, OPEN, REQUEST
from labkit.bench.handlers import DOMAIN
from labkit.bench.websockets import HOST, settings
from labkit.http.memory import MemoryTransport
from labkit.platform import Platform
from labkit.settings import LabSettings, build
from tests.cases import cases
from tests.websockets.rig import PING, PONG, TEXT, frame

COUNT = 5_000  # pieces of a flood
MOST = 300  # that may be handled before another client has its answer


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    made = json.loads(settings(tmp_path)) | {"https_port": 0, "products": [{"id": "bench"}]}
    async with Platform(build(LabSettings, made), seed=7) as platform:
        yield platform


class Client:
    """Client in memory. received: all bytes; told: set with each."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.received, self.told = b"", asyncio.Event()
        self.transport = transport
        transport.receiver = self

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.told.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.told.set()

    async def answer(self, data: str) -> bytes:
        """Send bytes and return the next ones that arrive."""
        self.received = b""
        self.told.clear()
        self.transport.write(data.encode())
        await self.told.wait()
        return self.received


async def connect(platform: Platform, host: str) -> Client:
    assert platform.context.address.connect_in_memory is not None
    transport, _ = await platform.context.address.connect_in_memory(host)
    return Client(transport)


@cases(
    ("host", "opening", "piece"),
    [
        (HOST, OPEN, frame(PING)),
        (HOST, OPEN, frame(TEXT, b"x")),
        (HOST, OPEN, frame(0, fin=False)),
        (DOMAIN, "", REQUEST.encode()),
        (DOMAIN, CHUNKS, b"1\r\nx\r\n"),
    ],
)
async def test_others_are_served_beside_a_flood(
    platform: Platform, host: str, opening: str, piece: bytes
) -> None:
    flood, other = await connect(platform, host), await connect(platform, DOMAIN)
    if opening == OPEN:
        assert b" 101 " in await flood.answer(opening)
        flood.transport.write(frame(TEXT, fin=False) if piece == frame(0, fin=False) else b"")
    else:
        flood.transport.write(opening.encode())
    flood.transport.write(piece * COUNT)
    assert (await other.answer(REQUEST)).startswith(b"HTTP/1.1 200 ")
    assert platform.edge._server is not None
    protocols = list(platform.edge._server._transports)
    links = [each.link._unread for each in protocols if each.link is not None]
    unread = max(*(len(each._held) for each in protocols), *(len(data) - at for data, at in links))
    assert COUNT - unread / len(piece) < MOST
    assert platform.context.activity.running  # a virtual clock waits for the rest
    flood.transport.abort()


async def test_of_many_pings_the_last_is_answered(platform: Platform) -> None:
    client = await connect(platform, HOST)
    await client.answer(OPEN)
    client.received = b""
    client.transport.write(b"".join(frame(PING, b"%04d" % number) for number in range(COUNT)))
    while not client.received.endswith(b"%04d" % (COUNT - 1)):
        client.told.clear()
        await client.told.wait()
    assert client.received.count(bytes([0x80 | PONG, 4])) < COUNT / 10
    client.transport.abort()
