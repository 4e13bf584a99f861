"""The outbound client: any behaviour of a server results in an answer or an OSError."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest

from labkit.core.certificates import authority
from labkit.http.address import ServerAddress
from labkit.http.outbound import LARGEST, OutboundClient, is_below
from tests.cases import cases

Writer = asyncio.StreamWriter
Serve = Callable[[Callable[[Writer], Awaitable[None]]], Awaitable[str]]

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
async def client() -> AsyncIterator[OutboundClient]:
    pem = authority("lab").certificate_pem.decode()
    client = OutboundClient("lab.localhost", ServerAddress("127.0.0.1", ca_pem=pem), 5.0)
    yield client
    await client.stop()


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Provide a function that starts a server, which answers each request as the test sets, and returns its URL."""
    servers: list[asyncio.Server] = []
    ended = asyncio.Event()

    async def start(answer: Callable[[Writer], Awaitable[None]]) -> str:
        async def handle(reader: asyncio.StreamReader, writer: Writer) -> None:
            await reader.readuntil(b"\r\n\r\n")
            with suppress(ConnectionError):  # the client has closed the connection
                await answer(writer)
                writer.close()
                await writer.wait_closed()
            ended.set()

        servers.append(await asyncio.start_server(handle, "127.0.0.1", 0))
        port = servers[-1].sockets[0].getsockname()[1]
        return f"http://any.lab.localhost:{port}/"

    yield start
    await ended.wait()
    for server in servers:
        server.close()
        await server.wait_closed()


def text(data: bytes) -> Callable[[Writer], Awaitable[None]]:
    async def answer(writer: Writer) -> None:
        writer.write(data)
        await writer.drain()

    return answer


async def test_an_answer_in_pieces_is_returned_whole(client: OutboundClient, serve: Serve) -> None:
    async def pieces(writer: Writer) -> None:
        writer.write(OK + b"Content-Length: 6\r\n\r\n")
        for letter in b"{a: 1}":
            writer.write(bytes([letter]))
            await writer.drain()
            await asyncio.sleep(0.002)

    assert await client.request("GET", await serve(pieces), {}) == (200, "{a: 1}")


async def test_no_more_than_the_limit_is_read(client: OutboundClient, serve: Serve) -> None:
    answer = OK + f"Content-Length: {2 * LARGEST}\r\n\r\n".encode() + b"a" * LARGEST + b"b" * LARGEST
    assert await client.request("GET", await serve(text(answer)), {}) == (200, "a" * LARGEST)


async def test_redirects_are_not_followed(client: OutboundClient, serve: Serve) -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
    assert await client.request("GET", await serve(text(answer)), {}) == (302, "")


@cases(
    ("charset", "decoded"),
    [
        ("utf-8", "é�"),
        ("no-such-thing", "é�"),
        ("punycode", "é�"),
        ("unicode_escape", "é�"),
        ("Latin1", "Ã©Ã"),
    ],
)
async def test_the_text_is_decoded_with_a_known_charset_else_as_utf_8(
    client: OutboundClient, serve: Serve, charset: str, decoded: str
) -> None:
    head = f"Content-Type: text/plain; charset={charset}\r\nContent-Length: 3\r\n\r\n"
    body = "é\xff".encode()[:3]
    assert await client.request("GET", await serve(text(OK + head.encode() + body)), {}) == (200, decoded)


@cases(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        OK,
        OK + b"Content-Length: 9\r\n\r\n{",
        OK + b"A: \0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 11 + OK + b"Content-Length: 0\r\n\r\n",
    ],
)
async def test_an_invalid_answer_is_an_os_error(client: OutboundClient, serve: Serve, answer: bytes) -> None:
    with pytest.raises(OSError, match="cannot be reached"):
        await client.request("GET", await serve(text(answer)), {})


@cases("url", ["http://lab.localhost:1/?secret=1", "ftp://lab.localhost/", "nonsense"])
async def test_no_server_is_an_os_error(client: OutboundClient, url: str) -> None:
    with pytest.raises(OSError, match="cannot be reached") as caught:
        await client.request("GET", url, {})
    assert "secret" not in str(caught.value)


async def test_a_server_that_takes_too_long_is_an_os_error(serve: Serve) -> None:
    pem = authority("lab").certificate_pem.decode()
    client = OutboundClient("lab.localhost", ServerAddress("127.0.0.1", ca_pem=pem), 0.05)
    closed = asyncio.Event()

    async def never(writer: Writer) -> None:
        await closed.wait()

    url = await serve(never)
    with pytest.raises(OSError):  # noqa: PT011 - a TimeoutError, which says all
        await client.request("GET", url, {})
    closed.set()
    await client.stop()


async def heads_of(
    client: OutboundClient, url: str, answer: bytes = OK + b"Content-Length: 0\r\n\r\n"
) -> list[bytes]:
    """Return the heads of two requests for a URL, as a server at its port receives them; one for each connection."""
    heads: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: Writer) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        with suppress(ConnectionError):
            writer.write(answer)
            assert await reader.read() == b""  # no second request arrives
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for _ in range(2):
        assert await client.request("GET", url.replace(":0", f":{port}"), {}) == (200, "")
    server.close()
    await server.wait_closed()
    return heads


async def test_cookies_are_not_kept(client: OutboundClient) -> None:
    answer = OK + b"Set-Cookie: sid=1; Path=/\r\nContent-Length: 0\r\n\r\n"
    heads = await heads_of(client, "http://any.lab.localhost:0/", answer)
    assert not any(b"cookie" in head.lower() for head in heads)


async def test_a_signed_url_is_sent_unchanged(client: OutboundClient) -> None:
    heads = await heads_of(client, "http://any.lab.localhost:0/me?fields=id%2Cname&a=%7e'b,c")
    assert all(head.startswith(b"GET /me?fields=id%2Cname&a=%7e'b,c HTTP/1.1\r\n") for head in heads)


async def test_each_request_has_its_own_connection(client: OutboundClient) -> None:
    assert len(await heads_of(client, "http://any.lab.localhost:0/")) == 2


async def test_no_request_is_repeated(client: OutboundClient) -> None:
    heads: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: Writer) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(OSError, match="cannot be reached"):
        await client.request("GET", f"http://any.lab.localhost:{port}/", {})
    assert len(heads) == 1
    server.close()
    await server.wait_closed()


class Kept:
    """A server that counts connections, and a client that treats it as the lab's own listener."""

    def __init__(self, keep_alive: float) -> None:
        self.connections = 0
        self.requests = 0
        self._handlers: set[asyncio.Task[None] | None] = set()
        self.address = ServerAddress("127.0.0.1", ca_pem=authority("lab").certificate_pem.decode())
        self.client = OutboundClient("lab.localhost", self.address, 5.0, keep_alive)

    async def __aenter__(self) -> Kept:
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        self.address.http_port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.client.stop()
        await asyncio.gather(*filter(None, self._handlers))
        self._server.close()
        await self._server.wait_closed()

    async def _handle(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        self.connections += 1
        self._handlers.add(asyncio.current_task())
        with suppress(asyncio.IncompleteReadError):  # the client disconnects
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(len("a=b"))
                self.requests += 1
                writer.write(OK + b"Content-Length: 2\r\n\r\n{}")
        writer.close()
        await writer.wait_closed()

    async def ask(self, host: str = "any.lab.localhost") -> None:
        url = f"http://{host}:{self.address.http_port}/"
        assert await self.client.request("POST", url, {}, "a=b") == (200, "{}")


async def test_the_labs_own_listener_is_requested_over_a_kept_connection() -> None:
    async with Kept(60.0) as kept:
        for _ in range(3):
            await kept.ask()
        assert (kept.connections, kept.requests) == (1, 3)
        await kept.ask("other.lab.localhost")  # one connection per name, since it is TLS's server name
        assert kept.connections == 2


async def test_concurrent_requests_have_their_own_connections() -> None:
    async with Kept(60.0) as kept:
        await asyncio.gather(*(kept.ask() for _ in range(5)))
        assert kept.requests == 5
        await asyncio.gather(*(kept.ask() for _ in range(5)))
        assert kept.requests == 10
        assert kept.connections <= 5


async def test_a_connection_is_not_reused_when_the_listener_may_close_it() -> None:
    async with Kept(1e-9) as kept:
        for _ in range(3):
            await kept.ask()
        assert kept.connections == 3


async def test_a_request_on_a_kept_connection_is_not_repeated_either() -> None:
    """The server may have handled it, so the caller gets an error."""
    heads: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: Writer) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(OK + b"Content-Length: 0\r\n\r\n")
        with suppress(asyncio.IncompleteReadError):
            heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    address = ServerAddress("127.0.0.1", http_port=port, ca_pem=authority("lab").certificate_pem.decode())
    client = OutboundClient("lab.localhost", address, 5.0, 60.0)
    url = f"http://any.lab.localhost:{port}/"
    assert await client.request("GET", url, {}) == (200, "")
    with pytest.raises(OSError, match="cannot be reached"):
        await client.request("GET", url, {})
    assert len(heads) == 2
    await client.stop()
    server.close()
    await server.wait_closed()


async def test_a_name_of_the_lab_at_another_port_is_not_its_listener() -> None:
    async with Kept(60.0) as kept:
        url = f"http://any.lab.localhost:{kept.address.http_port}/"
        kept.address.http_port = None
        for _ in range(2):
            assert await kept.client.request("POST", url, {}, "a=b") == (200, "{}")
        assert kept.connections == 2


async def test_a_name_with_the_same_ending_is_not_the_labs() -> None:
    assert is_below("a.lab.localhost", "lab.localhost")
    assert is_below("lab.localhost", "lab.localhost")
    assert not is_below("evillab.localhost", "lab.localhost")
    assert not is_below("", "lab.localhost")
