"""The edge: listens for TLS, and for plain HTTP where asked to, and hands requests over."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from asyncio import sslproto
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from aiohttp import web

from labkit.core.errors import SettingsError
from labkit.edge.certificates import Certificates
from labkit.edge.face import Face, GuardTimes
from labkit.edge.handshake import HANDSHAKE, Handshake
from labkit.edge.names import NameRefused
from labkit.edge.server import EdgeServer, plain_ip
from labkit.edge.tasks import Tasks
from labkit.edge.tls import EdgeContext
from labkit.http.connection import Connection

BACKLOG = 1024
OUT_OF_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
ROOM_PAUSE = 0.5  # seconds until accepting is tried again when the system has no room


class SmallBuffers(sslproto.SSLProtocol):
    """asyncio's TLS, which else keeps 256 KiB to read into for every connection."""

    max_size = 16 * 1024
    _sslobj: Any

    def _do_shutdown(self) -> None:
        # What a client still sends after our goodbye would else break the connection, and our answer be lost.
        with suppress(ssl.SSLError):
            while self._sslobj.read(self.max_size):
                pass
        super()._do_shutdown()  # type: ignore[misc]


class Edge:
    """One listener for all products and solutions; it is handed all that it knows (see `Face`).

    names: for its certificate, which is issued anew when they change. wants_client_certificates: asked for
    each connection. max_body: the most that `request.read()` takes, in bytes.
    """

    def __init__(
        self,
        *,
        authority: Certificates,
        knows: Callable[[str], bool],
        wants_client_certificates: Callable[[], bool],
        names: Callable[[], Sequence[str]],
        handler: Callable[[Connection, web.BaseRequest], Awaitable[web.StreamResponse]],
        refused: Callable[[str, str], None],
        on_error: Callable[[BaseException], None],
        connection_id: Callable[[], str],
        connected: Callable[[Connection], Awaitable[None]] | None = None,
        date: Callable[[], str] | None = None,
        guard: GuardTimes | None = None,
        max_body: int = 1024 * 1024,
    ) -> None:
        self._face = Face(
            knows=knows,
            handler=handler,
            connection_id=connection_id,
            refused=refused,
            on_error=on_error,
            connected=connected,
            date=date,
            guard=guard or GuardTimes(),
        )
        self._context = EdgeContext(authority, names, knows, wants_client_certificates)
        self._max_body = max_body
        self._server: EdgeServer | None = None
        self._tasks = Tasks()
        self._sockets: list[socket.socket] = []
        self.https_port = 0
        self.http_port: int | None = None

    async def start(self, host: str = "127.0.0.1", https_port: int = 0, http_port: int | None = None) -> None:
        """Listen; port 0 takes any free one, http_port None none. Raises SettingsError where it cannot."""
        self._server = EdgeServer(self._face, max_body=self._max_body)
        try:
            self._context.prepare()
            secure = self._listen(host, https_port, "https_port")
            self.https_port = secure.getsockname()[1]
            if http_port is not None:
                clear = self._listen(host, http_port, "http_port")
                self.http_port = clear.getsockname()[1]
                self._tasks.spawn(self._accept(clear, self._clear))
        except BaseException:
            await self.stop()
            raise
        self._tasks.spawn(self._accept(secure, self._secure))

    async def stop(self) -> None:
        """Stop listening and end all connections; nothing of the edge is left."""
        await self._tasks.finish()
        for listener in self._sockets:
            listener.close()
        self._sockets.clear()
        if self._server is not None:
            await self._server.stop()
            self._server = None

    def _listen(self, host: str, port: int, setting: str) -> socket.socket:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        both = host == "::" and socket.has_dualstack_ipv6()
        try:
            listener = socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=both)
        except OSError as error:
            reason = (error.strerror or str(error)).partition(" (while")[0]
            raise SettingsError(f"{setting}: cannot listen on {host}:{port}: {reason}") from error
        listener.setblocking(False)
        self._sockets.append(listener)
        return listener

    async def _accept(
        self, listener: socket.socket, greet: Callable[[socket.socket], Awaitable[None]]
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, (peer_ip, *_) = await loop.sock_accept(listener)
            except OSError as error:
                if error.errno in OUT_OF_ROOM:
                    self._face.refused("no room for connections", str(error))
                    await asyncio.sleep(ROOM_PAUSE)
                continue
            self._tasks.spawn(self._greet(greet, accepted, plain_ip(peer_ip)))
            await asyncio.sleep(0)  # let others run while connections keep coming

    async def _greet(
        self, greet: Callable[[socket.socket], Awaitable[None]], accepted: socket.socket, peer_ip: str
    ) -> None:
        try:
            await greet(accepted)
        except OSError as error:
            self._face.refused(*explain(error, peer_ip))
        except Exception as error:  # noqa: BLE001 - there is nobody else to tell
            self._face.on_error(error)

    async def _clear(self, accepted: socket.socket) -> None:
        assert self._server is not None
        await asyncio.get_running_loop().connect_accepted_socket(self._server, accepted)

    async def _secure(self, accepted: socket.socket) -> None:
        """Agree on TLS. Raises OSError (ssl.SSLError, NameRefused) if that fails."""
        loop = asyncio.get_running_loop()
        handshake = Handshake(lambda: loop.call_soon(cut, accepted))
        HANDSHAKE.set(handshake)  # of this task, and of all that it starts for the connection
        try:
            await self._agree(accepted)
        except OSError as error:
            raise (handshake.failure or error) from None

    async def _agree(self, accepted: socket.socket) -> None:
        assert self._server is not None
        loop, server = asyncio.get_running_loop(), self._server
        times: dict[str, Any] = {
            "ssl_handshake_timeout": self._face.guard.handshake,
            "ssl_shutdown_timeout": self._face.guard.shutdown,
        }
        if not isinstance(loop, asyncio.BaseEventLoop):  # uvloop's own TLS is faster, and small
            await loop.connect_accepted_socket(server, accepted, ssl=self._context, **times)
            return
        agreed: asyncio.Future[None] = loop.create_future()
        transport, _ = await loop.connect_accepted_socket(
            lambda: SmallBuffers(loop, server(), self._context, agreed, server_side=True, **times), accepted
        )
        try:
            await agreed
        except BaseException:
            transport.abort()
            raise


def cut(accepted: socket.socket) -> None:
    """End a connection both ways; what was sent still arrives."""
    with suppress(OSError):
        accepted.shutdown(socket.SHUT_RDWR)


def explain(error: OSError, peer_ip: str) -> tuple[str, str]:
    """Reason and detail of a handshake that failed."""
    if isinstance(error, NameRefused):
        return "unknown server name", f"{error.refusal}; from {peer_ip}"
    if isinstance(error, ssl.SSLError):
        what = getattr(error, "reason", None) or error.strerror or ""  # OpenSSL's own words
        return "TLS handshake failed", f"{what.replace('_', ' ').lower()}; from {peer_ip}"
    return "TLS handshake not finished", f"{str(error) or 'the client left'}; from {peer_ip}"
