"""HTTP answers as they come on a connection, one after another, read by h11: for clients that write bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import h11

PIECE = 65536


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. version: of HTTP, `1.1`; headers: names and values as they came; chunks: how long each was."""

    status: int
    version: str
    reason: str
    headers: list[tuple[str, str]]
    body: bytes
    chunks: list[int]

    def header(self, name: str) -> str | None:
        """The one value of a header; None where it is missing. Raises ValueError where there are several."""
        values = [value for known, value in self.headers if known.lower() == name.lower()]
        if len(values) > 1:
            raise ValueError(f"{name} is there {len(values)} times: {values}")
        return values[0] if values else None


class Answers:
    """The answers of a connection."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._ahead = b""  # what came after the answers that were read

    async def next(self, method: str = "GET") -> Answer:
        """The answer to a request with this method; interim ones are passed over.

        Raises h11.RemoteProtocolError where what comes is none, or ends before it is whole.
        """
        connection = h11.Connection(h11.CLIENT)
        connection.send(
            h11.Request(method="HEAD" if method == "HEAD" else "GET", target="/", headers=[("Host", "x")])
        )
        connection.send(h11.EndOfMessage())
        ahead, self._ahead = self._ahead, b""
        if ahead:
            connection.receive_data(ahead)
        response: h11.Response | None = None
        body, chunks = b"", list[int]()
        while not isinstance(event := connection.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                connection.receive_data(await self._reader.read(PIECE))
            elif isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                body += event.data
                chunks += [0] if event.chunk_start else []
                if chunks:
                    chunks[-1] += len(event.data)
        assert response is not None
        reason = response.reason.decode("latin-1")
        self._ahead = connection.trailing_data[0]
        headers = [
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw_items()
        ]
        return Answer(response.status_code, response.http_version.decode(), reason, headers, body, chunks)

    async def rest(self) -> AsyncIterator[bytes]:
        """What comes until the connection ends, piece by piece."""
        while piece := await self.more():
            yield piece

    async def more(self) -> bytes:
        """What comes next, whatever it is; nothing at the end."""
        ahead, self._ahead = self._ahead, b""
        return ahead or await self._reader.read(PIECE)
