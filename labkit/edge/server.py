"""Connections of an edge: the site of each request, its answer, and the end of the connections."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from aiohttp import hdrs, web
from aiohttp.http import HttpVersion11
from aiohttp.http_exceptions import BadHttpMessage

from labkit.context import Context
from labkit.core.certificates import common_name
from labkit.core.coroutines import END
from labkit.core.errors import StorageError, UnknownError
from labkit.edge import limits
from labkit.edge.frame import respond, respond_to_story
from labkit.edge.hosts import described, host_name, wrong_host
from labkit.edge.limits import BodyLateError, plain
from labkit.edge.peer import Peer
from labkit.edge.protocol import EdgeProtocol
from labkit.edge.tasks import Tasks
from labkit.http.connection import Connection, unwatched
from labkit.http.error import ConnectionCut
from labkit.http.reply import Answer, Reply
from labkit.http.request import SiteRequest
from labkit.http.sites import Site


class EdgeServer(web.Server):
    """Server that creates a protocol for each connection and passes requests to the site of their host."""

    def __init__(self, context: Context, *, max_body: int) -> None:
        # aiohttp's own loop, which would call a handler, is replaced by that of `handling`.
        super().__init__(cast(Any, None), handler_cancellation=True)
        self.context = context
        self._max_body = max_body
        self._tasks = Tasks()
        self._transports: dict[EdgeProtocol, asyncio.Transport] = {}
        self._all_ended: asyncio.Future[None] | None = None

    def protocol(self, peer: Peer) -> EdgeProtocol:
        """Return the protocol of a new connection."""
        return EdgeProtocol(
            self,
            self.context,
            self._tasks.keep,
            self._serve,
            peer=peer,
            max_body=self._max_body,
            loop=self._loop,
        )

    # --- connections

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Register a connection; called by aiohttp after the handshake."""
        protocol = cast(EdgeProtocol, handler)
        super().connection_made(protocol, transport)
        self._transports[protocol] = transport
        if protocol.peer.dropped:
            transport.abort()
        protocol.connection = connection = self._connection(transport, protocol.peer.ip)
        connection.peer_port = peer_port = protocol.peer.port
        protocol.peer.transport = transport
        protocol.own = own = protocol.peer.counts or self.context.outbound.connects_from(peer_port)
        protocol.by_lab_time = not (own or self.context.clock.rate)
        if connection.tls and not protocol.peer.dropped:
            connection.ready = self._tasks.spawn(self._connected(connection))

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        protocol = cast(EdgeProtocol, handler)
        self._transports.pop(protocol, None)
        if (task := protocol._task_handler) is None:
            protocol.peer.disconnect_processed()
        else:  # aiohttp cancels it now; the end is over with it
            task.add_done_callback(lambda _: protocol.peer.disconnect_processed())
        if not self._transports and self._all_ended is not None and not self._all_ended.done():
            self._all_ended.set_result(None)

    def end_idle(self) -> None:
        """End each connection on which no request is being handled; websockets are told that the lab leaves.

        One that had no request yet stays: its client may be sending the first, which would be lost.
        """
        for protocol, transport in tuple(self._transports.items()):
            if protocol.link is not None:
                protocol.close()
            elif protocol.is_idle() and protocol.host_header is not None:
                protocol.connection.deliveries = None
                transport.abort()

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._transports)

    async def stop(self) -> None:
        """End all connections; requests in progress get the grace time of the settings to finish."""
        for protocol in self._transports:
            protocol.connection.ended = unwatched
            protocol.close()
        await self._tasks.finish(self.context.settings.guard.grace)
        await self.crash()

    def cut(self, reason: str) -> None:
        """End all connections now: no client that runs later can send a request, and no further answer is sent.

        Connections with a request in progress end last, and that of the running request after all others: a client that
        notices its end finds its idle connections ended, too. `crash` has to follow. reason: that of the requests.
        """
        running = asyncio.current_task()
        ending = list(self._transports)
        for protocol in sorted(ending, key=lambda each: (not each.is_idle(), each._task_handler is running)):
            protocol.connection.deliveries = None  # an end that the server makes confirms nothing
            protocol.end_quietly()
            protocol.connection.cut_reason = reason
            protocol.peer.cut()
            protocol.cut()
        self._tasks.cancel()

    def cut_device(self, product: str, identity: str, reason: str) -> int:
        """End the connections on which a device has authenticated, at once; return how many there were."""
        cut = [each for each in self._transports if (product, identity) in each.connection.devices]
        for protocol in cut:
            protocol.connection.deliveries = None
            protocol.connection.cut_reason = reason
            protocol.peer.cut()
            protocol.cut()
        return len(cut)

    async def crash(self) -> None:
        """End all connections at once, with the requests that are in progress, within a limited time."""
        for protocol, transport in self._transports.items():
            protocol.connection.deliveries = None  # an end that the server makes confirms nothing
            protocol.end_quietly()
            transport.abort()
        await self._tasks.finish()
        if self._transports:
            self._all_ended = self._loop.create_future()
            await asyncio.wait([self._all_ended], timeout=END)
        for protocol in tuple(self._transports):
            self.context.journal.record_refusal(
                "end of a connection not reported",
                f"within {END:g} s by the event loop; {protocol.connection.peer_ip}",
            )
            protocol.connection_lost(ConnectionAbortedError())

    def _connection(self, transport: asyncio.Transport, peer_ip: str) -> Connection:
        if (host := transport.get_extra_info("memory_host")) is not None:
            return Connection(host=host, peer_ip=peer_ip)
        tls = transport.get_extra_info("ssl_object")
        certificate = tls.getpeercert(True) if tls is not None else None
        return Connection(
            host=tls.server_name if tls is not None else "",
            peer_ip=peer_ip,
            certificate=certificate,
            common_name=common_name(certificate) if certificate is not None else None,
            tls=tls is not None,
        )

    async def _connected(self, connection: Connection) -> bool:
        site = self.context.hosts.find(connection.host)
        if site is None:  # it was taken away since the handshake
            return True
        try:
            if await self._admitted(connection):
                return True  # each request is told why the lab has stopped
            with self.context.activity:
                await site.connected(connection)
        except StorageError as error:  # the database has reported it
            connection.failure = error.status, str(error)
            return False
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets a 500 and the journal has it
            self.context.journal.record_error(error)
            return False
        return True

    async def _is_ready(self, connection: Connection, ready: asyncio.Future[bool]) -> bool:
        """Return whether `_connected` succeeded, once it is over."""
        if not ready.done():
            with self.context.activity:
                await asyncio.wait([ready])  # not cancelled with the request
        if succeeded := ready.result():
            connection.ready = None
        return succeeded

    # --- requests

    async def _serve(self, protocol: EdgeProtocol, request: SiteRequest) -> Answer:
        """Answer a request.

        A response of aiohttp is prepared here, where an error in it can still be answered. A reply is returned only
        where it can be sent as it is.
        """
        connection, head = protocol.connection, request.head
        if self.context.whole.bars and (stopped := await self._admitted(connection, protocol.peer.counts)):
            return plain(503, stopped)
        site = self.context.hosts.find(connection.host)
        if head.host is None or head.host != protocol.host_header or site is None:
            if (refused := self._refused(protocol, request)) is not None:
                return refused
            site = None  # over plain HTTP each request names its own
        if connection.ready is not None:
            if not await self._is_ready(connection, connection.ready):
                return plain(*connection.failure)
            site = None  # it may have been replaced
        if connection.deliveries is not None and not protocol.next_has_begun:
            connection.deliveries.confirm()
        activity = self.context.activity
        try:
            activity.begin()
            try:
                answering = respond_to_story if self.context.story_requests else respond
                answer = await answering(self.context, site or self._site(connection), connection, request)
            finally:
                activity.end()
            if isinstance(answer, Reply):
                if head.keeps_open and not request.expecting:
                    return answer
                answer = answer.response()
            if request.expecting:
                # The body was not asked for: only the client knows whether it sends it.
                protocol.no_lingering()
                answer.force_close()
            await answer.prepare(request)
        except web.HTTPException:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer to it
            return self._failure(protocol, request, error)
        return answer

    async def _admitted(self, connection: Connection, counted: bool = False) -> str | None:
        """Wait while an operation on the whole lab needs it. Returns why the lab has stopped, None if it has not.

        The platform's own requests go on, since the operation may wait for the script that sends them. counted: whether
        the client counts as pending work, which the operation may wait for.
        """
        if self.context.outbound.connects_from(connection.peer_port):
            return None
        if counted:
            self.context.activity.end()
        try:
            return await self.context.whole.enter()
        finally:
            if counted:
                self.context.activity.begin()

    def _refused(self, protocol: EdgeProtocol, request: SiteRequest) -> web.Response | None:
        """Return the refusal of a request that is for no site or has a wrong head; None if it may go to its site.

        A head without special fields is checked once.
        """
        # Before all else, so that a client that names no host of the lab learns nothing.
        if wrong := self.wrong_host(protocol, request):
            protocol.end("wrong host", wrong)
            return web.Response()  # has nowhere to go
        if request.is_foreign():
            request._version = HttpVersion11  # of the answer
            return protocol.unreadable(400, "only HTTP/1.0 and HTTP/1.1 are spoken here")
        site = self.context.hosts.find(protocol.connection.host)
        if refusal := limits.refusal(request.headers, () if site is None else site.codings):
            return protocol.unreadable(*refusal)
        expect = request.headers.get(hdrs.EXPECT)
        if expect is not None and request.version >= HttpVersion11:
            if expect.lower() != "100-continue":
                return protocol.unreadable(417, "only 100-continue can be expected")
            request.expecting = True
        elif request.raw_path.startswith("/"):
            request.head.host = protocol.host_header
        return None

    def _failure(self, protocol: EdgeProtocol, request: SiteRequest, error: Exception) -> web.Response:
        """Return the answer to a request whose site raised an error."""
        match error:
            case BodyLateError():
                return plain(408, str(error))
            case web.RequestPayloadError() | BadHttpMessage():  # the latter from aiohttp's parser in Python
                return plain(400, "the body is malformed")
            case ConnectionCut():
                protocol.cut()
                return web.Response()  # has nowhere to go
            case StorageError():  # the database has reported it
                return plain(error.status, str(error))
            case ConnectionError() if protocol.has_ended():
                return web.Response()  # the client left while it was being answered
        self.context.journal.record_error(error)
        if request.writer.output_size > 0:
            protocol.end("answer broke off", type(error).__name__)
        return plain(500, "internal error")

    def _site(self, connection: Connection) -> Site[Any]:
        site = self.context.hosts.find(connection.host)
        if site is None:
            raise UnknownError(f"nothing is served at {connection.host}")
        return site

    def wrong_host(self, protocol: EdgeProtocol, request: SiteRequest) -> str | None:
        """Return the reason why the request is not for this connection's host; None if it is (document 1, TLS rule)."""
        connection = protocol.connection
        named = request.headers.get(hdrs.HOST)
        if named is not None and named == protocol.host_header and request.raw_path.startswith("/"):
            known = self.context.hosts.serves(connection.host)  # as most often: it was judged before
            return None if known else described(connection, named)
        wrong = wrong_host(connection, self.context.hosts.serves, named, request.method, request.raw_path)
        if wrong is None:
            assert named is not None
            connection.host, protocol.host_header = host_name(named) or "", named
        return wrong


def plain_ip(text: str) -> str:
    """Return an IPv4 address in its usual form, also from a socket that serves IPv6 and IPv4 (RFC 4291 2.5.5.2)."""
    return text.removeprefix("::ffff:") if "." in text else text
