"""Client for the platform's own requests: hosts of its own lab over loopback, others by their URL."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from labkit.core.component import Component
from labkit.http.address import ServerAddress
from labkit.http.cause import cause_of

LARGEST = 1024 * 1024  # bytes of an answer that are read
Answer = tuple[int, str]
Send = Callable[[str, str, Mapping[str, str], "str | None"], Awaitable[Answer]]  # method, URL, headers, body


class OutgoingFaults(Protocol):
    """Faults of outgoing requests."""

    async def around(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None, send: Send
    ) -> Answer:
        """Return status and text of the answer, from `send` or from a fault."""
        ...


class AnswerRegistry(Protocol):
    """Registry of awaited answers: `expect` yields the headers that name one in its request."""

    def expect(
        self, actor: str, run: int | None, patience: float
    ) -> AbstractAsyncContextManager[Mapping[str, str]]: ...


class InjectionPoints(Protocol):
    """The injection points that concern outgoing requests; outgoing and requests are None without active faults."""

    @property
    def outgoing(self) -> OutgoingFaults | None: ...
    @property
    def requests(self) -> object | None: ...
    @property
    def awaited(self) -> AnswerRegistry: ...


class OutboundClient(Component):
    """An HTTPS client that follows no redirects, keeps no cookies, and trusts the lab's CA besides the system's.

    Each request to another server has its own connection: a kept one may have ended by the next request, which
    must not be repeated, since it may have been handled. The lab's own listener keeps a connection for
    `keep_alive`, so that one is reused within half of that: with a new one for each request, four fifths of the
    work would be TLS.

    domain: names below it, at the ports of `address`, are the lab's own; address: the lab's address and the
    certificate of its CA; patience: seconds of real time that an answer may take; keep_alive: seconds of real
    time that the lab keeps an idle connection.
    """

    def __init__(self, domain: str, address: ServerAddress, patience: float, keep_alive: float = 0.0) -> None:
        self._domain = domain
        self._address = address
        self._patience = patience
        self._keep_alive = keep_alive
        self.faults: InjectionPoints | None = None
        self._sessions: dict[bool, ClientSession] = {}  # by whether they are for the lab's own hosts

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None = None
    ) -> tuple[int, str]:
        """Send a request and return status and text of the answer.

        Raises OSError (TimeoutError among them) where there is none.
        """
        faults = None if self.faults is None else self.faults.outgoing
        if faults is not None:
            return await faults.around(method, url, headers, body, self._send)
        return await self._send(method, url, headers, body)

    async def _send(self, method: str, url: str, headers: Mapping[str, str], body: str | None) -> Answer:
        try:
            target = URL(url, encoded=True)  # unchanged, since it may be signed
            if self.faults is None or self.faults.requests is None or not self._is_own(target):
                return await self._exchange(method, target, headers, body)
            async with self.faults.awaited.expect(
                f"outgoing/{target.host}", cause_of(headers), self._patience
            ) as more:
                endless = ClientTimeout()
                return await self._exchange(method, target, {**headers, **more}, body, endless)
        except (ClientError, ValueError) as error:
            raise OSError(f"{url.partition('?')[0]} cannot be reached: {error}") from error

    async def _exchange(
        self,
        method: str,
        target: URL,
        headers: Mapping[str, str],
        body: str | None,
        timeout: ClientTimeout | None = None,
    ) -> Answer:
        """Send one request. timeout: None for the session's. Raises ClientError, ValueError or TimeoutError."""
        session = self._session(self._is_own(target))
        async with session.request(
            method,
            target,
            headers=headers,
            data=body,
            allow_redirects=False,
            timeout=session.timeout if timeout is None else timeout,
        ) as response:
            data = b""
            async for chunk in response.content.iter_any():
                data += chunk
                if len(data) >= LARGEST:
                    break
            return response.status, _text(data[:LARGEST], response.charset)

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
        """Return whether the lab's own listener is at this URL; other servers may use names below its domain."""
        ports = (self._address.https_port, self._address.http_port)
        return self._keep_alive > 0 and is_below(target.host or "", self._domain) and target.port in ports

    def _session(self, own: bool) -> ClientSession:
        if own not in self._sessions:
            context = ssl.create_default_context()
            context.load_verify_locations(cadata=self._address.ca_pem)
            # A certificate of the user's own may lack its root.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            resolver = _Resolver(self._domain, self._address.host)
            session = self._sessions[own] = ClientSession(
                connector=(
                    TCPConnector(ssl=context, resolver=resolver, keepalive_timeout=self._keep_alive / 2)
                    if own
                    else TCPConnector(ssl=context, resolver=resolver, force_close=True)
                ),
                cookie_jar=DummyCookieJar(),  # one solution's cookies are not for another
                timeout=ClientTimeout(total=self._patience),
                headers={"User-Agent": "labkit"},
            )
            # aiohttp would repeat a GET that got no answer; a signed one is a replay then. No public switch (3.14).
            session._retry_connection = False
        return self._sessions[own]


def is_below(host: str, domain: str) -> bool:
    """Return whether a host name is a domain, or below it."""
    return host == domain or host.endswith(f".{domain}")


def _text(data: bytes, charset: str | None) -> str:
    try:
        text = data.decode(charset or "utf-8", "replace")
    except LookupError:  # an unknown charset
        return data.decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode()  # some charsets have halves of surrogate pairs


class _Resolver(AbstractResolver):
    """Resolves the lab's own names without DNS."""

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
