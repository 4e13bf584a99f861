"""How the platform itself reaches servers: the fakes of its own lab by loopback, others as their URL says."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from labkit.core.component import Component
from labkit.http.address import ServerAddress

LARGEST = 1024 * 1024  # bytes of an answer that are read


class OutboundClient(Component):
    """An HTTPS client that follows no redirects, keeps no cookies, and trusts the lab's CA besides the system's.

    domain: names below it are the lab's own; address: where they are, and the certificate of their CA; patience:
    seconds of real time that an answer may take.
    """

    def __init__(self, domain: str, address: ServerAddress, patience: float) -> None:
        self._domain = domain
        self._address = address
        self._patience = patience
        self._session: ClientSession | None = None

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None = None
    ) -> tuple[int, str]:
        """Status and text of the answer. Raises OSError (TimeoutError among them) where there is none."""
        if self._session is None:
            context = ssl.create_default_context()
            context.load_verify_locations(cadata=self._address.ca_pem)
            context.verify_flags |= (
                ssl.VERIFY_X509_PARTIAL_CHAIN
            )  # a certificate of the user's own may lack its root
            self._session = ClientSession(
                connector=TCPConnector(  # a kept connection may have ended by the next request
                    ssl=context, resolver=_Resolver(self._domain, self._address.host), force_close=True
                ),
                cookie_jar=DummyCookieJar(),  # what one solution is given is not for another
                timeout=ClientTimeout(total=self._patience),
                headers={"User-Agent": "labkit"},
            )
            # aiohttp would repeat a GET that got no answer; a signed one is a replay then. No public switch (3.14).
            self._session._retry_connection = False
        try:
            target = URL(url, encoded=True)  # as it was signed
            async with self._session.request(
                method, target, headers=headers, data=body, allow_redirects=False
            ) as response:
                data = b""
                async for chunk in response.content.iter_any():
                    data += chunk
                    if len(data) >= LARGEST:
                        break
                return response.status, _text(data[:LARGEST], response.charset)
        except (ClientError, ValueError) as error:
            raise OSError(f"{url.partition('?')[0]} cannot be reached: {error}") from error

    async def stop(self) -> None:
        """Close its connections; the next request opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _text(data: bytes, charset: str | None) -> str:
    try:
        text = data.decode(charset or "utf-8", "replace")
    except LookupError:  # a charset that nobody knows
        return data.decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode()  # some charsets have halves of surrogate pairs


class _Resolver(AbstractResolver):
    """Finds the lab's own names without DNS."""

    def __init__(self, domain: str, host: str) -> None:
        self._domain = domain
        self._own = host
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        name = self._own if host == self._domain or host.endswith(f".{self._domain}") else host
        found = await self._system.resolve(name, port, family)
        return [{**each, "hostname": host} for each in found]

    async def close(self) -> None:
        await self._system.close()
