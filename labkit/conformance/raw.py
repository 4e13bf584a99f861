"""Clients that write bytes: for requests that no HTTP library sends, and for answers that must not come."""

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
    """The other side ended the TLS handshake."""

    def __init__(self, error: OSError) -> None:
        super().__init__("the TLS handshake", "that it succeeds", f"{type(error).__name__}: {error}")


class Raw:
    """One connection. Nothing is added to what is sent, and nothing taken from what comes."""

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
        """Send a request and read its answer.

        path: with bytes that are no ASCII as surrogates; host: what Host says, else the connection's name.
        Content-Length comes by itself, unless the body is chunked.
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
        """Read one answer. Raises Mismatch where none comes, or what comes is none."""
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
        """All that comes until the connection ends. Raises Mismatch where it does not end."""
        came = b""
        while piece := await self.more(patience):
            came += piece
        return came

    async def more(self, patience: float = PATIENCE) -> bytes:
        """What comes next, nothing at the end. Raises Mismatch where neither happens."""
        try:
            async with asyncio.timeout(patience):
                return await self._answers.more()
        except TimeoutError:
            raise Mismatch("the connection", "that it ends", f"open after {patience:g} seconds") from None
        except OSError:
            return b""  # ended all the same

    def leave(self) -> None:
        """End the connection by FIN, without a word of TLS."""
        self._writer.transport.abort()

    def reset(self) -> None:
        """End the connection by a TCP reset."""
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._writer.transport.abort()

    async def finish(self) -> None:
        """End the connection as TLS does: with close_notify, and once the server has answered it."""
        self._writer.close()
        with suppress(OSError):
            async with asyncio.timeout(PATIENCE):
                await self._writer.wait_closed()


def head(method: str, path: str, headers: Headers) -> bytes:
    """The head of a request."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode(errors="surrogateescape")


def encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Header fields as they are sent."""
    return [(name.encode(), value.encode(errors="surrogateescape")) for name, value in headers]


@asynccontextmanager
async def connect(
    target: Target,
    name: str | None,
    *,
    certificate: KeyPair | None = None,
    version: ssl.TLSVersion | None = None,
) -> AsyncIterator[Raw]:
    """A TLS connection that names `name` in SNI, or nothing. Raises HandshakeEnded.

    certificate: the client's; version: the only one to speak.
    """
    context = target.address.context(certificate)
    context.check_hostname = False  # the name may be none that the target has
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
        raw.leave()


@asynccontextmanager
async def connect_plainly(target: Target, name: str) -> AsyncIterator[Raw]:
    """A connection without TLS, for requests to `name`. Raises Unavailable if the target has no such port."""
    if target.http_port is None:
        raise Unavailable("the target has no plain HTTP port")
    raw = Raw(name, *await asyncio.open_connection(target.address.host, target.http_port))
    try:
        yield raw
    finally:
        raw.leave()


def unreadable(path: str, host: str | None) -> dict[str, tuple[str, int]]:
    """Requests that no server can make sense of, or takes; and the status that each deserves, if any answer."""
    whole = "".join([*([] if host is None else [f"Host: {host}\r\n"]), "\r\n"])
    large = "".join(f"X-{number}: {'x' * 7000}\r\n" for number in range(12))
    return {
        "another version": (f"GET {path} HTTP/2.0\r\n{whole}", 400),
        "a line that is no field": (f"GET {path} HTTP/1.1\r\nnonsense\r\n{whole}", 400),
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
    """A request must end its connection without one byte of HTTP."""
    raw.send(request)
    expect.equal(f"bytes that answer {what}", await raw.more(), b"")
