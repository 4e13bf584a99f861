"""Listener for TLS and optionally plain HTTP, which routes requests to the sites."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from asyncio import sslproto
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from labkit.context import Context
from labkit.core.component import Component
from labkit.core.coroutines import END
from labkit.core.errors import SettingsError
from labkit.edge.certificates import Certificates, certificates
from labkit.edge.clients import Clients, cannot_listen, own_ip, unread
from labkit.edge.handshake import HANDSHAKE, NO_LIMIT, Handshake, explain
from labkit.edge.names import NameRefused, check_server_name
from labkit.edge.peer import LocalPeer, Peer
from labkit.edge.server import EdgeServer, plain_ip
from labkit.edge.tasks import Tasks
from labkit.edge.time_limit import limited
from labkit.edge.tls import EdgeContext, load
from labkit.http.memory import MemoryTransport, connect_in_memory
from labkit.labtime.clock import Timer, TimerState


class SmallBuffers(sslproto.SSLProtocol):
    """asyncio's TLS protocol with a smaller read buffer than its default of 256 KiB per connection."""

    max_size = 16 * 1024
    _sslobj: Any

    def _do_shutdown(self) -> None:
        # What a client still sends after our goodbye would else break the connection, and our answer be lost.
        with suppress(ssl.SSLError):
            while self._sslobj.read(self.max_size):
                pass
        super()._do_shutdown()  # type: ignore[misc]


BACKLOG = 1024
OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
RESOURCES_PAUSE = 0.5  # seconds until accepting is tried again when the system has nothing left
Greet = Callable[[socket.socket, Peer], Awaitable[None]]  # begins HTTP on an accepted connection


class Edge(Component):
    """Listener for all sites of a lab, which it finds in the context's table of hosts.

    own: certificates other than those that the settings ask for; max_body: largest body that `request.read()` accepts,
    in bytes.
    """

    def __init__(
        self, context: Context, own: Certificates | None = None, *, max_body: int = 1024 * 1024
    ) -> None:
        self._context = context
        self._own = own
        self._max_body = max_body
        self._certificates: Certificates
        self._server: EdgeServer | None = None
        self._tls: EdgeContext
        self._listening: Timer | None = None  # again, after a crash
        self._host, self._accepts = context.settings.host, False
        self._opening: asyncio.Event | None = None  # set once it accepts the connections that wait meanwhile
        self._pauses: dict[socket.socket, asyncio.TimerHandle] = {}  # until accepting is tried again
        self._own_ip = ""  # from which clients on this machine connect
        self._tasks, self._clients = Tasks(), Clients()
        self._sockets: list[socket.socket] = []
        context.inputs.add(self._unread)

    async def start(self) -> None:
        """Listen at the ports of the settings and set the context's address. Raises SettingsError if it cannot."""
        settings = self._context.settings
        path = self._context.database.path
        self._certificates = self._own or certificates(
            settings.tls, None if path is None else Path(f"{path}.tls"), is_shared=self._is_virtual()
        )
        await self._open(settings.https_port, settings.http_port)

    async def _open(self, https_port: int, http_port: int | None) -> None:
        """Listen at these ports, 0 for any free one, and set the context's address."""
        address, own, hosts = self._context.address, self._certificates, self._context.hosts
        self._tls = EdgeContext(
            own, hosts.certificate_names, hosts.serves, hosts.want_client_certificates, self._is_virtual
        )
        self._server = EdgeServer(self._context, max_body=self._max_body)
        try:
            if not self._is_virtual():  # where few fleets use TLS, the first connection does
                self._tls.prepare()
            self._take_ports(https_port, http_port)
            if self._listening is None:
                self._listen()
        except BaseException:
            await self.stop()
            raise
        self._own_ip = own_ip(self._sockets[0])
        ports = tuple(listener.getsockname()[1] for listener in self._sockets)
        address.https_port, address.http_port = ports[0], ports[1] if len(ports) > 1 else None
        address.ca_pem = own.ca_pem.decode()
        address.connect, address.connect_in_memory = self._connect, self._connect_in_memory
        journal = self._context.journal
        journal.ports = tuple(dict.fromkeys([*journal.ports, *ports]))  # its records may have earlier ports

    async def stop(self) -> None:
        """Stop listening and end all connections; release all resources of the edge."""
        self._cancel_listening()
        await self._release_ports()
        if self._server is not None:
            await self._server.stop()
            self._server = None

    @property
    def certificates(self) -> Certificates:
        """Source of its certificates, once it has started."""
        return self._certificates

    def server_context(self, names: Sequence[str]) -> ssl.SSLContext:
        """Return a TLS context for another listener with these host names, whose certificate the lab's CA issues."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        load(made, self._certificates.leaves(names, always=self._is_virtual()))
        return made

    def _is_virtual(self) -> bool:
        return not self._context.clock.rate

    async def suspend(self) -> None:
        """Stop listening and end all connections. After a restart, the time without power continues."""
        await self._release_ports()
        if self._server is not None:
            await self._server.stop()
            self._server = None

    async def resume(self) -> None:
        """Listen again at the ports of the settings, 0 for any free one."""
        await self._open(self._context.settings.https_port, self._context.settings.http_port)

    async def resume_at(self, host: str, https_port: int, http_port: int | None) -> None:
        """Listen again at this IP address and these ports, 0 for any free one. Raises SettingsError."""
        self._host = self._context.address.host = host
        await self._open(https_port, http_port)

    state_type = TimerState | None

    def snapshot(self) -> TimerState | None:
        """Return when it listens again after a crash; None while it listens."""
        timer = self._listening
        return None if timer is None else TimerState(timer.when, timer.order)

    async def restore(self, state: TimerState | None) -> None:
        if state is not None:
            address = self._context.address
            self.cut("a snapshot without power was restored")
            await self.crash()
            if not self._sockets:
                self._take_ports(address.https_port, address.http_port)
            self._listening = self._context.clock.call_at(state.when, self._listen, state.order)

    @property
    def down_until(self) -> float | None:
        """Lab time at which it listens again after a crash; None while it listens."""
        return None if self._listening is None else self._listening.when

    def __len__(self) -> int:
        """Return the number of open connections."""
        return 0 if self._server is None else len(self._server)

    def cut(self, reason: str, *, refuse: bool = True) -> None:
        """End all connections now, before any client can act, and accept none until `listen_in`. `crash` has to follow.

        reason: that of requests without an answer. refuse: refuse new connections meanwhile; else they wait, so that no
        client sees the time in which nothing is accepted.
        """
        accepted = self._accepts
        self._cancel_listening()
        self._unwatch()  # clients still connect, and wait
        if refuse:
            self._end_waits()
            if accepted:
                self._close_sockets()
                # At once, so that no other program takes a port that no socket has; if one did, `listen_in` says so.
                try:
                    self._take_ports(self._context.address.https_port, self._context.address.http_port)
                except SettingsError:
                    self._close_sockets()
        elif accepted:
            self._opening = asyncio.Event()
        self._clients.drop()
        if self._server is not None:
            self._server.cut(reason)

    def cut_device(self, product: str, identity: str, reason: str) -> int:
        """End the connections of a device at once, as a network that fails; return how many there were."""
        return 0 if self._server is None else self._server.cut_device(product, identity, reason)

    async def crash(self) -> None:
        """Return once the end of all connections is over, which `cut` has begun."""
        await self._end_greetings()
        if self._server is not None:
            await self._server.crash()

    def listen_in(self, seconds: float) -> None:
        """After a crash, accept connections at the same ports again in `seconds` of lab time.

        Raises SettingsError where another program has taken one.
        """
        address, clock = self._context.address, self._context.clock
        if not self._sockets:
            self._take_ports(address.https_port, address.http_port)
        if seconds:
            self._listening = clock.call_at(clock.now() + seconds, self._listen)
        else:
            self._listen()

    def end_idle(self) -> None:
        """End each connection on which no request is being handled."""
        if self._server is not None:
            self._server.end_idle()

    async def clear(self) -> None:
        """End idle connections, so that a replay begins with new connections, as the first run did."""
        self.end_idle()
        if self._listening is not None:
            self._listen()

    def _take_ports(self, https_port: int, http_port: int | None) -> None:
        self._bind("https_port", https_port)
        if http_port is not None:
            self._bind("http_port", http_port)

    def _bind(self, setting: str, port: int) -> None:
        """Bind a port. It refuses connections until `_listen`."""
        host = self._host
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        self._sockets.append(listener)
        try:
            if os.name == "posix":  # elsewhere it would let another program have the same port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if listener.family == socket.AF_INET6:
                both = host == "::" and socket.has_dualstack_ipv6()
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not both)
            listener.bind((host, port))
        except OSError as error:
            raise cannot_listen(self._host, setting, port, error) from error
        listener.setblocking(False)

    def _listen(self) -> None:
        """Accept connections at the bound ports."""
        self._cancel_listening()
        self._context.address.down_until = 0.0
        greetings = (("https_port", self._secure), ("http_port", self._clear))
        for listener, (setting, greet) in zip(self._sockets, greetings, strict=False):
            try:
                listener.listen(BACKLOG)
            except OSError as error:
                raise cannot_listen(self._host, setting, listener.getsockname()[1], error) from error
            self._watch(listener, greet)
        self._accepts = True
        self._end_waits()

    async def _release_ports(self) -> None:
        self._unwatch()
        self._end_waits()
        await self._end_greetings()
        self._close_sockets()

    async def _end_greetings(self) -> None:
        """End the connections on which HTTP has not begun.

        Their tasks are not cancelled: uvloop then forgets to report the end to a protocol to which it has just reported
        the beginning.
        """
        self._clients.drop()
        await self._tasks.finish(END)

    def _cancel_listening(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            self._listening = None

    def _unwatch(self) -> None:
        for listener in self._sockets if self._accepts else ():
            if (pause := self._pauses.pop(listener, None)) is not None:
                pause.cancel()
            else:
                asyncio.get_running_loop().remove_reader(listener.fileno())
        self._accepts = False

    def _end_waits(self) -> None:
        """Let clients in this process go on that wait for a connection; they look again whether it is accepted."""
        if self._opening is not None:
            self._opening.set()
            self._opening = None

    def _close_sockets(self) -> None:
        for listener in self._sockets:
            listener.close()
        self._sockets.clear()

    def _watch(self, listener: socket.socket, greet: Greet) -> None:
        """Accept the connections of a listening socket, until its reader is removed."""
        self._pauses.pop(listener, None)
        asyncio.get_running_loop().add_reader(listener.fileno(), self._accept, listener, greet)

    def _accept(self, listener: socket.socket, greet: Greet) -> None:
        """Accept one connection: let others run while connections keep coming."""
        try:
            accepted, (peer_ip, peer_port, *_) = listener.accept()
        except OSError as error:
            if error.errno in OUT_OF_RESOURCES:
                self._report_resources(error)
                loop = asyncio.get_running_loop()
                loop.remove_reader(listener.fileno())
                self._pauses[listener] = loop.call_later(RESOURCES_PAUSE, self._watch, listener, greet)
            return
        accepted.setblocking(False)
        peer = Peer(plain_ip(peer_ip), peer_port, accepted)
        self._clients.add(peer)
        self._tasks.spawn(self._greet(greet, accepted, peer))

    def _unread(self) -> bool:
        listening = self._sockets if self._accepts else ()
        if self._pauses:
            listening = [each for each in listening if each not in self._pauses]
        return unread(listening, self._clients.peers)

    async def _is_accepting(self) -> bool:
        """Return whether connections are accepted, once a restart is over that lets them wait."""
        while self._opening is not None:
            await self._opening.wait()
        return self._accepts

    async def _connect(self) -> tuple[socket.socket, Callable[[], None]]:
        """Open a connection to the HTTPS port without the network: see `ServerAddress.connect`.

        As over TCP, the connection is refused while nothing listens, and waits while none is accepted and while the
        system lacks resources. Raises OSError.
        """
        while await self._is_accepting():
            try:
                client, accepted = socket.socketpair()
            except OSError as error:
                if error.errno not in OUT_OF_RESOURCES:
                    raise
                self._report_resources(error)
                await asyncio.sleep(RESOURCES_PAUSE)
                continue
            client.setblocking(False)
            accepted.setblocking(False)
            peer = LocalPeer(self._own_ip, self._context.activity, accepted)
            self._clients.add(peer)
            self._tasks.spawn(self._greet(self._secure, accepted, peer))
            return client, peer.leave
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))

    async def _connect_in_memory(self, host: str) -> tuple[MemoryTransport, Callable[[], None]]:
        """Open a connection to a host in memory, without TLS: see `ServerAddress.connect_in_memory`. Raises OSError."""
        if not await self._is_accepting() or self._server is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        name = check_server_name(host, self._context.hosts.serves)
        if name.refusal is not None:
            self._context.journal.record_refusal(*explain(NameRefused(name.refusal), self._own_ip))
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        client, accepted = connect_in_memory(name.host)
        peer = LocalPeer(self._own_ip, self._context.activity)
        protocol = self._server.protocol(peer)
        accepted.receiver = protocol
        protocol.connection_made(accepted)
        return client, peer.leave

    def _report_resources(self, error: OSError) -> None:
        self._context.journal.record_refusal("no resources for connections", str(error))

    async def _greet(self, greet: Greet, accepted: socket.socket, peer: Peer) -> None:
        served = False
        try:
            await greet(accepted, peer)
            served = True
        except OSError as error:
            if not peer.dropped:
                self._context.journal.record_refusal(*explain(error, peer.ip), peer.name)
        except Exception as error:  # noqa: BLE001 - there is nobody else to tell
            self._context.journal.record_error(error)
        finally:
            if not served:
                peer.disconnect_processed()

    async def _clear(self, accepted: socket.socket, peer: Peer) -> None:
        assert self._server is not None
        protocol = partial(self._server.protocol, peer)
        await asyncio.get_running_loop().connect_accepted_socket(protocol, accepted)

    async def _secure(self, accepted: socket.socket, peer: Peer) -> None:
        """Agree on TLS. Raises OSError (ssl.SSLError, NameRefused) if that fails."""
        loop = asyncio.get_running_loop()
        handshake = Handshake(lambda: loop.call_soon(peer.cut))
        HANDSHAKE.set(handshake)  # of this task, and of all that it starts for the connection
        seconds = self._context.settings.guard.handshake
        with limited(self._context, seconds, partial(handshake.is_late, seconds)):
            try:
                await self._agree(accepted, peer)
            except OSError as error:
                raise (handshake.late or handshake.failure or error) from None

    async def _agree(self, accepted: socket.socket, peer: Peer) -> None:
        assert self._server is not None
        loop, protocol = asyncio.get_running_loop(), partial(self._server.protocol, peer)
        shutdown = self._context.settings.guard.shutdown
        times: dict[str, Any] = {"ssl_handshake_timeout": NO_LIMIT, "ssl_shutdown_timeout": shutdown}
        if not isinstance(loop, asyncio.BaseEventLoop):  # uvloop's own TLS is faster, and small
            await loop.connect_accepted_socket(protocol, accepted, ssl=self._tls, **times)
            return
        agreed: asyncio.Future[None] = loop.create_future()
        transport, _ = await loop.connect_accepted_socket(
            lambda: SmallBuffers(loop, protocol(), self._tls, agreed, server_side=True, **times), accepted
        )
        try:
            await agreed
        except BaseException:
            transport.abort()
            raise
