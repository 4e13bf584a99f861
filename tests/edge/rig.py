"""An edge whose handler echoes the request, and clients that send raw bytes."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from labkit.conformance.answers import Answers
from labkit.context import Context
from labkit.core.records import Record
from labkit.edge.certificates import Authority, Certificates, Leaf
from labkit.edge.listener import Edge
from labkit.http.address import ServerAddress
from labkit.http.connection import Connection
from labkit.http.sites import Site, SiteExchange
from labkit.labtime.clock import Clock
from labkit.settings import Guard
from tests.context import make_context
from tests.guard import PATIENCE as PATIENCE

HOST = "a.lab.localhost"
OTHER = "b.lab.localhost"
SOON = 0.05  # seconds: the time limits that tests wait for
Handler = Callable[[Connection, web.BaseRequest], Awaitable[web.StreamResponse]]


async def echo(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
    """Answer with a description of the request."""
    body = await request.read()
    return web.Response(text=f"{connection.host} {request.method} {request.raw_path} {body.decode()}")


class IssuedOnce:
    """An authority that issues one certificate for the same names, shared by all tests of a process."""

    def __init__(self) -> None:
        self._authority = Authority.create()
        self._leaves: dict[tuple[bool, str], list[Leaf]] = {}
        self.ca_pem = self._authority.ca_pem

    def leaves(self, names: Sequence[str], *, always: bool = False) -> list[Leaf]:
        key = always, " ".join(names)
        if key not in self._leaves:
            self._leaves[key] = self._authority.leaves(names, always=always)
        return self._leaves[key]


issued_once = cache(IssuedOnce)


class RigSite(Site[SiteExchange]):
    """A site that answers as its rig is set."""

    def __init__(self, host: str, rig: EdgeRig) -> None:
        super().__init__(host, "test", host, rig.context)
        self._rig = rig

    @property
    def wants_client_certificates(self) -> bool:
        return self._rig.client_certificates

    async def connected(self, connection: Connection) -> None:
        if self._rig.connected is not None:
            await self._rig.connected(connection)

    async def answer(self, exchange: SiteExchange) -> web.StreamResponse:
        if exchange.connection not in self._rig.connections:
            self._rig.connections.append(exchange.connection)
        return await self._rig.handler(exchange.connection, exchange.request)


class EdgeRig:
    def __init__(self) -> None:
        self.client_certificates = False
        self.connections: list[Connection] = []
        self.handler: Handler = echo
        self.connected: Callable[[Connection], Awaitable[None]] | None = None
        self.something = asyncio.Event()  # set when a connection or request was refused
        self._clients: list[Client] = []
        self.edge: Edge | None = None
        self.hosts: Sequence[str] = (HOST, OTHER)
        self.authority: Certificates = issued_once()
        self.context: Context

    async def start(
        self,
        *,
        http: bool = False,
        https_port: int = 0,
        http_port: int = 0,
        rate: float = 0,
        **settings: Any,
    ) -> Edge:
        assert self.edge is None
        guard = {name: value for name, value in settings.items() if name in Guard.model_fields}
        rest = {name: value for name, value in settings.items() if name not in guard}
        self.context = make_context(
            clock=Clock(rate=rate),
            https_port=https_port,
            http_port=http_port if http else None,
            guard=guard,
            **rest,
        )
        for host in self.hosts:
            self.serve(host)
        self.context.journal.watch(self._seen)
        edge = Edge(self.context, self.authority)
        await edge.start()
        self.edge = edge
        return edge

    def serve(self, host: str) -> None:
        """Serve a further host name."""
        self.context.hosts.add(RigSite(host, self))

    @property
    def address(self) -> ServerAddress:
        return self.context.address

    @property
    def refused(self) -> list[tuple[str, str]]:
        """Return the reasons and details of the edge's refusals."""
        records = self.context.journal.select("refused")
        return [(record.summary, str((record.detail or {})["reason"])) for record in records]

    @property
    def errors(self) -> list[str]:
        """Return the exceptions that nothing handled."""
        return [record.summary for record in self.context.journal.select("error")]

    async def close(self) -> None:
        for client in self._clients:
            await client.close()
        if self.edge is not None:
            await self.edge.stop()

    def forget(self) -> None:
        """Forget earlier clients and connections."""
        self._clients.clear()
        self.connections.clear()

    async def begin_case(self, **settings: Any) -> None:
        """Begin a case of a test: start with these settings, or clear the state that another case left."""
        if self.edge is None:
            await self.start(**settings)
        else:
            await self.clear()

    async def clear(self) -> None:
        """Close all connections and forget the refusals, for the next case of a test."""
        for client in self._clients:
            await client.close()
        self.forget()
        self.something.clear()
        self.context.journal.clear()

    async def refusal(self) -> tuple[str, str]:
        """Wait for the only refusal and return it."""
        async with asyncio.timeout(PATIENCE):
            await self.something.wait()
        assert len(self.refused) == 1
        return self.refused[0]

    async def connect(self, name: str | None = HOST, context: ssl.SSLContext | None = None) -> Client:
        """Open a TLS connection with SNI `name`; None sends no SNI. Raises OSError."""
        if self.edge is None:
            await self.start()
        assert self.edge is not None
        if context is None:
            context = self.trusting()
        if name is None:
            context.check_hostname = False
        return await self._open(self.address.https_port, ssl=context, server_hostname=name or "")

    async def connect_in_process(self, name: str = HOST, context: ssl.SSLContext | None = None) -> Client:
        """Open a TLS connection without the network. Raises OSError."""
        assert self.address.connect is not None
        opened, _ = await self.address.connect()
        async with asyncio.timeout(PATIENCE):
            tls = context or self.trusting()
            client = Client(*await asyncio.open_connection(sock=opened, ssl=tls, server_hostname=name))
        self._clients.append(client)
        return client

    async def connect_at(self, address: str) -> Client:
        """Open a TLS connection to an IP address of the listener."""
        port = self.address.https_port
        return await self._open(port, address, ssl=self.trusting(), server_hostname=HOST)

    async def connect_plainly(self, port: int | None = None, address: str = "127.0.0.1") -> Client:
        assert self.edge is not None
        port = port or self.address.http_port
        assert port is not None
        return await self._open(port, address)

    async def ask(self, data: bytes | str, name: str | None = HOST) -> bytes:
        """Return all bytes received over a new connection until its end."""
        client = await self.connect(name)
        return await client.ask(data)

    def trusting(
        self,
        pair: tuple[bytes, bytes] | None = None,
        version: ssl.TLSVersion | None = None,
        ca_pem: str | None = None,
    ) -> ssl.SSLContext:
        """Return a client's context. pair: its certificate and key; ca_pem: the trusted authority (default: own)."""
        context = ssl.create_default_context(cadata=ca_pem or self.authority.ca_pem.decode())
        if version is not None:
            context.minimum_version = context.maximum_version = version
        if pair is not None:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "pair.pem")
                file.write_bytes(pair[0] + pair[1])
                context.load_cert_chain(file)
        return context

    async def _open(self, port: int, address: str = "127.0.0.1", **tls: Any) -> Client:
        async with asyncio.timeout(PATIENCE):
            client = Client(*await asyncio.open_connection(address, port, **tls))
        self._clients.append(client)
        return client

    def _seen(self, record: Record) -> None:
        if record.kind == "refused":
            self.something.set()


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.answers = Answers(reader)
        self.writer = writer

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def send(self, data: bytes | str) -> None:
        self.writer.write(data.encode() if isinstance(data, str) else data)

    async def ask(self, data: bytes | str) -> bytes:
        """Send bytes, and read to the end of the connection."""
        self.send(data)
        return await self.rest()

    async def rest(self) -> bytes:
        """Return all bytes until the connection ends, regularly or not."""
        came = b""
        async with asyncio.timeout(PATIENCE):
            try:
                while data := await self.answers.more():
                    came += data
            except OSError:
                pass
        return came

    async def answer(
        self, data: bytes | str = b"", *, head: bool = False
    ) -> tuple[int, dict[str, str], bytes]:
        """Send bytes, and read one response: status, headers, body."""
        self.send(data)
        async with asyncio.timeout(PATIENCE):
            came = await self.answers.next("HEAD" if head else "GET")
        return came.status, {name.lower(): value for name, value in came.headers}, came.body

    async def turn(self) -> None:
        """Let the bytes sent so far arrive, most likely, separately from the next ones."""
        for _ in range(3):
            await asyncio.sleep(0)

    async def close(self) -> None:
        self.writer.transport.abort()


class InMemory:
    """TLS of a client whose records can be counted."""

    APPLICATION_DATA = 23

    def __init__(self, client: Client, context: ssl.SSLContext) -> None:
        self.client = client
        self.up, self.down = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.secure = context.wrap_bio(self.down, self.up, server_hostname=HOST)
        self.records = 0

    async def shake_hands(self) -> None:
        while True:
            with suppress(ssl.SSLWantReadError):
                self.secure.do_handshake()
                self.client.send(self.up.read())
                return
            self.client.send(self.up.read())
            await self._receive()

    async def read(self) -> bytes:
        """Return the next decrypted bytes."""
        while True:
            with suppress(ssl.SSLWantReadError):
                return self.secure.read(65536)
            await self._receive()

    async def _receive(self) -> None:
        async with asyncio.timeout(PATIENCE):
            header = await self.client.reader.readexactly(5)
            data = await self.client.reader.readexactly(int.from_bytes(header[3:5], "big"))
        self.records += header[0] == self.APPLICATION_DATA
        self.down.write(header + data)


def get(path: str = "/", host: str = HOST, *headers: str, method: str = "GET") -> str:
    """Return a request as bytes; `headers` are whole lines."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, "", ""])
