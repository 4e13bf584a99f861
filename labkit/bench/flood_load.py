"""The client process of floods: `python -m labkit.bench.flood_load CORE`."""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import Any

from labkit.bench.control import Answer, run_child, serve_commands
from labkit.bench.floods import FOLLOW, Flood
from labkit.bench.websockets import HOST

BLOCK = 64 * 1024  # bytes that are sent at once
FEW = 500  # pieces in a row, each in a segment or record of its own


class Flooding:
    """Clients that send without pause, over plain TCP or TLS that nobody verifies."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._sent = 0
        self._begun = asyncio.Event()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE

    async def start(self, clients: int, ports: dict[str, Any], flood: dict[str, Any]) -> Answer:
        """Start the clients, and return once each has its event streams and one has sent something."""
        made = Flood(**flood)
        for _ in range(made.unread * clients):
            follow = FOLLOW.format(token=ports["token"]) + "Content-Length: 2\r\n\r\n{}"
            self._tasks.append(asyncio.create_task(self._follow(ports["control"], follow)))
        self._tasks += [asyncio.create_task(self._flood(made, ports)) for _ in range(clients)]
        await self._begun.wait()
        return {}

    async def stop(self) -> Answer:
        """End the clients; return the number of bytes that they have sent."""
        for task in self._tasks:
            task.cancel()
        return {"sent": self._sent}

    async def _follow(self, port: int, head: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(head.encode())
        await asyncio.Event().wait()

    async def _flood(self, flood: Flood, ports: dict[str, Any]) -> None:
        """Flood on one connection after the other: the lab may end each."""
        tls: dict[str, Any] = {"ssl": self._context, "server_hostname": HOST} if flood.port == "https" else {}
        opening = flood.opening.format(host=HOST, **ports).encode("latin-1")
        piece = flood.piece.encode("latin-1")
        block = piece if flood.apart else piece * (BLOCK // max(len(piece), 1))
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", ports[flood.port], **tls)
                writer.write(opening)
                self._sent += len(opening)
                self._begun.set()
                if flood.answer:
                    await reader.readuntil(b"\r\n\r\n")
                reading = asyncio.create_task(_drop(reader))
                while piece and not reading.done():
                    for _ in range(FEW if flood.apart else 1):
                        writer.write(block)
                        self._sent += len(block)
                        await asyncio.sleep(0)
                    await writer.drain()
                writer.transport.abort()
            except (OSError, EOFError):
                await asyncio.sleep(0)


async def _drop(reader: asyncio.StreamReader) -> None:
    while await reader.read(BLOCK):
        pass


async def serve() -> None:
    """Execute the commands of the benchmark until standard input ends."""
    os.nice(10)  # the device, on the same core, has to be measured
    load = Flooding()
    await serve_commands({}, {"start": load.start, "stop": load.stop})


if __name__ == "__main__":
    run_child(serve)
