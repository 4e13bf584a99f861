"""Clients that write raw bytes: for requests that no HTTP library sends, and for answers that must not arrive."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

import h11

from labkit.conformance import expect
from labkit.conformance.answers import Answers
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch, Unavailable
from labkit.core.certificates import KeyPair
from labkit.fleet.transport import RESET

if TYPE_CHECKING:
    import httpx

ASCII = "".join(map(chr, range(33, 127)))
PATIENCE = 10.0  # seconds of real time for an answer, or for the end of a connection

Headers = Sequence[tuple[str, str]]


class HandshakeEnded(Mismatch):
    """The server ended the TLS handshake."""

    def __init__(self, error: OSError) -> None:
        super().__init__("the TLS handshake", "that it succeeds", f"{type(error).__name__}: {error}")


class Raw:
    """A connection that sends and receives bytes unchanged."""

    def __init__(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.name = name
        self._answers = Answers(reader)
        self._writer = writer

    def send(self, data: bytes | str) -> None:
        """Write bytes, or text as UTF-8."""
        self._writer.write(data.encode() if isinstance(data, str) else data)

    async def ask(
        self, method: str, path: str, headers: Headers = (), content: bytes = b"", host: str | None = None
    ) -> httpx.Response:
        """Send a request and return its answer.

        path: bytes that are no ASCII are surrogates; host: the value of Host, by default the connection's name.
        Content-Length is added, unless the body is chunked.
        """
        import httpx

        fields = [("Host", host or self.name), *headers]
        if content and not any(name == "Transfer-Encoding" for name, _ in headers):
            fields.append(("Content-Length", str(len(content))))
        self.send(head(method, path, fields) + content)
        shown = quote(path.encode(errors="surrogateescape"), safe=ASCII)
        return await self.answer(
            httpx.Request(method, f"https://{self.name}{shown}", headers=encoded(fields), content=content)
        )

    async def answer(self, request: httpx.Request) -> httpx.Response:
        """Return the next answer. Raises Mismatch if none arrives, or what arrives is not HTTP."""
        import httpx

        subject = f"the answer to {request.method} {request.url.raw_path.decode()}"
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._answers.next(request.method)
        except TimeoutError:
            raise Mismatch(subject, "an answer", f"none within {PATIENCE:g} seconds") from None
        except (OSError, h11.RemoteProtocolError) as error:
            raise Mismatch(subject, "an answer", f"{type(error).__name__}: {error}") from None
        return httpx.Response(answer.status, headers=answer.headers, content=answer.body, request=request)

    async def rest(self, patience: float = PATIENCE) -> bytes:
        """Return all bytes until the connection ends. Raises Mismatch if it stays open."""
        came = b""
        while piece := await self.more(patience):
            came += piece
        return came

    async def more(self, patience: float = PATIENCE) -> bytes:
        """Return the next bytes, empty at the end. Raises Mismatch if neither bytes nor the end arrives."""
        try:
            async with asyncio.timeout(patience):
                return await self._answers.more()
        except TimeoutError:
            raise Mismatch("the connection", "that it ends", f"open after {patience:g} seconds") from None
        except OSError:
            return b""  # a reset ends the connection too

    def abort(self) -> None:
        """End the connection by FIN, without close_notify."""
        self._writer.transport.abort()

    def reset(self) -> None:
        """End the connection by a TCP reset."""
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._writer.transport.abort()

    async def close(self) -> None:
        """End the connection as TLS does: send close_notify, and wait until the server has closed too."""
        self._writer.close()
        with suppress(OSError):
            async with asyncio.timeout(PATIENCE):
                await self._writer.wait_closed()


def head(method: str, path: str, headers: Headers) -> bytes:
    """Return the head of a request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode(errors="surrogateescape")


def encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return header fields as bytes."""
    return [(name.encode(), value.encode(errors="surrogateescape")) for name, value in headers]


@asynccontextmanager
async def connect(
    target: Target,
    name: str | None,
    *,
    certificate: KeyPair | None = None,
    version: ssl.TLSVersion | None = None,
) -> AsyncIterator[Raw]:
    """Open a TLS connection with `name` in SNI, or without SNI. Raises HandshakeEnded.

    certificate: the client's; version: the only TLS version that is offered.
    """
    context = target.address.context(certificate)
    context.check_hostname = False  # the name may be one that the target does not serve
    if version is not None:
        context.minimum_version = context.maximum_version = version
    try:
        async with asyncio.timeout(PATIENCE):
            streams = await asyncio.open_connection(
                target.address.host, target.address.https_port, ssl=context, server_hostname=name or ""
            )
    except (ssl.SSLError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError) as error:
        raise HandshakeEnded(error) from None
    raw = Raw(name or "", *streams)
    try:
        yield raw
    finally:
        raw.abort()


@asynccontextmanager
async def connect_plainly(target: Target, name: str) -> AsyncIterator[Raw]:
    """Open a connection without TLS, for requests to `name`. Raises Unavailable if the target has no such port."""
    if target.http_port is None:
        raise Unavailable("the target has no plain HTTP port")
    raw = Raw(name, *await asyncio.open_connection(target.address.host, target.http_port))
    try:
        yield raw
    finally:
        raw.abort()


def unreadable(path: str, host: str | None) -> dict[str, tuple[str, int]]:
    """Return malformed, oversized or unsupported requests by title, each with the status that an answer would have."""
    whole = "".join([*([] if host is None else [f"Host: {host}\r\n"]), "\r\n"])
    large = "".join(f"X-{number}: {'x' * 7000}\r\n" for number in range(12))
    return {
        "another version": (f"GET {path} HTTP/2.0\r\n{whole}", 400),
        "a line that is no field": (f"GET {path} HTTP/1.1\r\nnonsense\r\n{whole}", 400),
        "one host twice": (f"GET {path} HTTP/1.1\r\n{whole[:-2]}{whole}", 400),
        "a length that is no number": (f"POST {path} HTTP/1.1\r\nContent-Length: x\r\n{whole}", 400),
        "a long request line": (f"GET {path}?{'x' * 20_000} HTTP/1.1\r\n{whole}", 414),
        "a long field": (f"GET {path} HTTP/1.1\r\nX: {'x' * 20_000}\r\n{whole}", 431),
        "a large head": (f"GET {path} HTTP/1.1\r\n{whole[:-2]}{large}\r\n", 431),
        "an unknown transfer coding": (f"POST {path} HTTP/1.1\r\nTransfer-Encoding: zip\r\n{whole}", 501),
        "a content coding": (
            f"POST {path} HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n{whole}x",
            415,
        ),
    }


async def unanswered(raw: Raw, request: bytes | str, what: str) -> None:
    """Raise Mismatch unless a request ends its connection without one byte of HTTP."""
    raw.send(request)
    expect.equal(f"bytes that answer {what}", await raw.more(), b"")
