"""Reader of consecutive HTTP answers on one connection, parsed by h11, for clients that write raw bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import h11

PIECE = 65536


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer. version: of HTTP, as `1.1`; headers: names and values as received; chunks: their lengths."""

    status: int
    version: str
    reason: str
    headers: list[tuple[str, str]]
    body: bytes
    chunks: list[int]

    def header(self, name: str) -> str | None:
        """Return the value of a header, or None if it is absent. Raises ValueError if it occurs more than once."""
        values = [value for known, value in self.headers if known.lower() == name.lower()]
        if len(values) > 1:
            raise ValueError(f"{name} is there {len(values)} times: {values}")
        return values[0] if values else None


class Answers:
    """The answers received on one connection."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._ahead = b""  # bytes received after the last answer that was read

    async def next(self, method: str = "GET") -> Answer:
        """Return the next final answer, to a request with this method; interim (1xx) answers are skipped.

        Raises h11.RemoteProtocolError if the bytes received are not HTTP, or end before the answer is complete.
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
        """Yield the remaining bytes, piece by piece, until the connection ends."""
        while piece := await self.more():
            yield piece

    async def more(self) -> bytes:
        """Return the next bytes received, parsed or not; empty at the end of the connection."""
        ahead, self._ahead = self._ahead, b""
        return ahead or await self._reader.read(PIECE)
