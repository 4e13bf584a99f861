"""HTTPS client for the platform's own requests, to hosts of the lab over loopback and to other servers."""

from __future__ import annotations

import asyncio
import codecs
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Any, Protocol, cast
from weakref import WeakSet

from aiohttp import (
    AddrInfoType,
    ClientError,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    StreamReader,
    TCPConnector,
)
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from labkit.core.component import Component
from labkit.http.address import ServerAddress

CAUSE = "X-Labkit-Cause"

_SEQUENCE = re.compile(r"[0-9]{1,15}")


def cause_of(headers: Mapping[str, str]) -> int | None:
    """Return the sequence number of the journal record that caused a request, or None."""
    text = headers.get(CAUSE, "")
    return int(text) if _SEQUENCE.fullmatch(text) else None


LARGEST = 1024 * 1024  # bytes of an answer; the rest is not read
INTERIM = 10  # answers 1xx before the final one (RFC 9110 15.2)
# Names by Python; the decoders of others may take quadratic time.
CHARSETS = frozenset(
    "utf-8 utf-16 utf-16-le utf-16-be ascii koi8-r koi8-u "
    "shift_jis euc_jp euc_kr iso2022_jp gb2312 gbk gb18030 big5".split()
) | {*(f"iso8859-{number}" for number in range(1, 17)), *(f"cp{number}" for number in range(1250, 1259))}
Answer = tuple[int, str]
Send = Callable[[str, str, Mapping[str, str], "str | None"], Awaitable[Answer]]  # method, URL, headers, body


class OutboundFaults(Protocol):
    """Interface of the active faults of outgoing requests."""

    async def around(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None, send: Send
    ) -> Answer:
        """Send a request with its faults, and return status and text of the answer."""
        ...


class AnswerRegistry(Protocol):
    """Registry of awaited answers. `expect` yields headers for the request, which identify its answer."""

    def expect(
        self, actor: str, run: int | None, patience: float
    ) -> AbstractAsyncContextManager[Mapping[str, str]]: ...


class InjectionPoints(Protocol):
    """Injection points of outgoing requests. outgoing, requests, calls: None without active faults."""

    @property
    def outgoing(self) -> OutboundFaults | None: ...
    @property
    def requests(self) -> object | None: ...
    @property
    def calls(self) -> object | None: ...
    @property
    def awaited(self) -> AnswerRegistry: ...


class OutboundClient(Component):
    """HTTPS client that follows no redirects, stores no cookies, and trusts the lab's CA, and elsewhere the system's.

    Every request to another server has its own connection: an idle connection may end just when it is reused, and the
    request could not be repeated, since the server may have handled it. Connections to the lab's own listener, which
    keeps them open for `keep_alive`, are reused within half of that time, since TLS handshakes would take four fifths
    of the work.

    domain: the lab's; names below it, at the ports of `address`, are the lab's own; address: address and CA certificate
    of the lab; patience: real seconds that an answer may take; keep_alive: real seconds for which the lab keeps an idle
    connection, 0 if it is not known.
    """

    def __init__(self, domain: str, address: ServerAddress, patience: float, keep_alive: float = 0.0) -> None:
        self._domain = domain
        self._address = address
        self._patience = patience
        self._keep_alive = keep_alive
        self.faults: InjectionPoints | None = None
        self._sessions: dict[bool, ClientSession] = {}  # by whether they are for hosts of the lab
        self._opened: WeakSet[socket.socket] = WeakSet()  # to the lab's own listener

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: str | None = None,
        received: dict[str, str] | None = None,
        timeouts: tuple[float, float] | None = None,
    ) -> tuple[int, str]:
        """Send a request and return status and text of the answer.

        received: filled with the headers of the answer, by name in lower case; that of a fault has none. timeouts:
        seconds to connect and until the next part of the answer. Raises OSError without an answer, TimeoutError after
        one of the timeouts, or `patience` in all.
        """
        faults = None if self.faults is None else self.faults.outgoing
        if faults is not None:
            send = partial(self._send, received=received, timeouts=timeouts)
            return await faults.around(method, url, headers, body, send)
        return await self._send(method, url, headers, body, received, timeouts)

    async def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: str | None,
        received: dict[str, str] | None = None,
        timeouts: tuple[float, float] | None = None,
    ) -> Answer:
        connect, receive = timeouts or (None, None)
        try:
            target = URL(url, encoded=True)  # unchanged, since it may be signed
            faults = self.faults
            may_wait = faults is not None and (faults.requests is not None or faults.calls is not None)
            if faults is None or not (may_wait and self._is_own(target)):
                timeout = ClientTimeout(total=self._patience, sock_connect=connect, sock_read=receive)
                return await self._exchange(method, target, headers, body, received, timeout)
            patience = min(self._patience, receive or self._patience)
            async with faults.awaited.expect(f"outgoing/{target.host}", cause_of(headers), patience) as more:
                endless = ClientTimeout()
                return await self._exchange(method, target, {**headers, **more}, body, received, endless)
        except TimeoutError:  # some of the client's are ClientErrors, too
            raise
        except (ClientError, ValueError) as error:
            raise OSError(f"{url.partition('?')[0]} cannot be reached: {error}") from error

    async def _exchange(
        self,
        method: str,
        target: URL,
        headers: Mapping[str, str],
        body: str | None,
        received: dict[str, str] | None,
        timeout: ClientTimeout,
    ) -> Answer:
        """Send a request. Raises ClientError, ValueError or TimeoutError."""
        session = self._session(self._is_own(target))
        async with session.request(
            method,
            target,
            headers=headers,
            data=body,
            allow_redirects=False,
            timeout=timeout,
        ) as response:
            data = bytearray()
            async for chunk in response.content.iter_any():
                data += chunk
                if len(data) >= LARGEST:
                    break
            if received is not None:
                received.update((name.lower(), value) for name, value in response.headers.items())
            return response.status, _text(bytes(data[:LARGEST]), response.charset)

    def connects_from(self, port: int) -> bool:
        """Return whether this client has a connection to the lab's own listener from a local port."""
        return any(each.fileno() >= 0 and each.getsockname()[1] == port for each in self._opened)

    def _open(self, address: AddrInfoType) -> socket.socket:
        made = socket.socket(*address[:3])
        self._opened.add(made)
        return made

    async def stop(self) -> None:
        """Close the connections; the next request opens new ones."""
        while self._sessions:
            _, session = self._sessions.popitem()
            await session.close()

    async def suspend(self) -> None:
        await self.stop()

    async def crash(self) -> None:
        await self.stop()

    def _is_own(self, target: URL) -> bool:
        """Return whether a URL is at the lab's own listener. Other servers may use names below its domain, too."""
        ports = (self._address.https_port, self._address.http_port)
        return self._keep_alive > 0 and is_below(target.host or "", self._domain) and target.port in ports

    def _session(self, own: bool) -> ClientSession:
        if own not in self._sessions:
            # The system's CAs, which take 20 ms to load, sign no certificate of the lab that is not in its `ca_pem`.
            context = ssl.create_default_context(cadata=self._address.ca_pem)
            if not own:
                context.load_default_certs()
            # The chain of a user's own certificate may lack its root.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            resolver = _Resolver(self._domain, self._address.host)
            session = self._sessions[own] = ClientSession(
                connector=(
                    TCPConnector(
                        ssl=context,
                        resolver=resolver,
                        keepalive_timeout=self._keep_alive / 2,
                        socket_factory=self._open,
                    )
                    if own
                    else TCPConnector(ssl=context, resolver=resolver, force_close=True)
                ),
                cookie_jar=DummyCookieJar(),  # solutions must not receive each other's cookies
                headers={"User-Agent": "labkit"},
            )
            # aiohttp would repeat a GET without an answer, which is a replay if it is signed. No public option (3.14).
            session._retry_connection = False
            assert session.connector is not None
            session.connector._factory = cast(Any, partial(_Received, asyncio.get_running_loop()))  # nor here
        return self._sessions[own]


def is_below(host: str, domain: str) -> bool:
    """Return whether a host name is a domain, or below it."""
    return host == domain or host.endswith(f".{domain}")


def _text(data: bytes, charset: str | None) -> str:
    """Return the text of an answer; as UTF-8 where its charset is not one of CHARSETS."""
    with suppress(LookupError, ValueError):
        if codecs.lookup(charset or "utf-8").name in CHARSETS:
            return data.decode(charset or "utf-8", "replace")
    return data.decode("utf-8", "replace")


class _Received(ResponseHandler):
    """Answers on a connection. More interim ones than INTERIM are an error, since none ends the request."""

    _interim = 0

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        self._interim = self._interim + 1 if 100 <= data[0].code < 200 else 0
        if self._interim > INTERIM and self._exception is None:
            self.set_exception(ClientError(f"more than {INTERIM} interim answers"))
            if self.transport is not None:
                self.transport.abort()
        if self._exception is None:
            super().feed_data(data, size)


class _Resolver(AbstractResolver):
    """Resolver that returns the lab's address for its own names, and uses the system's DNS for others."""

    def __init__(self, domain: str, host: str) -> None:
        self._domain = domain
        self._own = host
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        name = self._own if is_below(host, self._domain) else host
        found = await self._system.resolve(name, port, family)
        return [{**each, "hostname": host} for each in found]

    async def close(self) -> None:
        await self._system.close()
