"""HTTPS client of virtual devices, notebooks and checks for one host of a lab, without DNS.

It always verifies the lab's CA. A client has one host, because a connection belongs to one server name (SNI).
"""

from __future__ import annotations

import ssl
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.core.certificates import KeyPair
from labkit.core.errors import ArgumentError
from labkit.core.handle import misfit

if TYPE_CHECKING:
    import httpx

    from labkit.fleet.httpx_transport import LabTransport

PATIENCE = 60.0  # real seconds to wait for an answer
LONGEST_KEPT = 500  # characters of a URL whose parsed form is cached
HEADERS = {
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "keep-alive",
    "User-Agent": "labkit",
}


@dataclass(slots=True)
class LabAddress:
    """Address on which a lab listens, and the certificate (PEM) of its CA.

    host: IP address; https_port: port of HTTPS; ca_pem: the certificate as text. In a future of a lab (`Lab.fork`),
    host and port change once, for all clients that have the address.
    """

    host: str
    https_port: int
    ca_pem: str

    def url(self, name: str, path: str = "") -> str:
        """Return the URL of a path at the host `name`, with the port unless it is 443."""
        port = "" if self.https_port == 443 else f":{self.https_port}"
        return f"https://{name}{port}{path}"

    def context(self, certificate: KeyPair | None = None) -> ssl.SSLContext:
        """Return a TLS context that trusts only the lab's CA and presents `certificate`."""
        context = ssl.create_default_context(cadata=self.ca_pem)
        context.verify_flags |= (
            ssl.VERIFY_X509_PARTIAL_CHAIN  # the chain of a user's own certificate may lack its root
        )
        if certificate is not None:
            with tempfile.TemporaryDirectory() as folder:  # ssl reads certificates from files only
                file = Path(folder) / "client.pem"
                file.touch(mode=0o600)
                file.write_bytes(certificate.key_pem + certificate.certificate_pem)
                context.load_cert_chain(file)
        return context

    def connections(self, certificate: KeyPair | None = None) -> LabTransport:
        """Return an httpx transport to the lab, whose connections present `certificate`."""
        from labkit.fleet.httpx_transport import LabTransport
        from labkit.fleet.transport import connected

        context = shared_context(self.ca_pem) if certificate is None else self.context(certificate)
        return LabTransport(lambda name: connected(self.host, self.https_port, context, name))


@lru_cache(maxsize=8)
def shared_context(ca_pem: str) -> ssl.SSLContext:
    """Return the shared TLS context of clients without a certificate: creating one takes as long as a request."""
    return LabAddress("", 0, ca_pem).context()


class FlowClient:
    """HTTPS client of one host of a lab.

    cookies: store cookies and send them with later requests; shared: transport to use while the client has no
    certificate, closed by its owner. It passes httpx's requests to the transport directly, because httpx's own client
    takes longer than the exchange.
    """

    def __init__(
        self,
        address: LabAddress,
        name: str,
        certificate: KeyPair | None = None,
        *,
        cookies: bool = True,
        shared: LabTransport | None = None,
    ) -> None:
        self.address = address
        self.name = name
        self.certificate = certificate
        self._stores_cookies = cookies
        self._cookies: httpx.Cookies | None = None  # received so far
        self._shared = shared
        self._transport: LabTransport | None = None  # not shared

    async def request(
        self,
        method: str,
        path: str,
        *,
        headers: Any = None,
        auth: tuple[str, str] | None = None,
        patience: float | None = PATIENCE,
        extensions: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> httpx.Response:
        """Send a request and read the whole answer; `options` as httpx takes them. Follows no redirects.

        auth: name and password; patience: real seconds to wait for an answer, None for ever.
        """
        import httpx

        url = _url(f"https://{self.address.host}:{self.address.https_port}{path}")
        fields = [*(given := _pairs(headers)), *self._default_fields(given)]
        timeout = {"connect": patience, "read": patience}
        more = {"sni_hostname": self.name, "timeout": timeout, **(extensions or {})}
        try:
            request = httpx.Request(method, url, headers=fields, extensions=more, **options)
        except TypeError as error:
            raise ArgumentError(misfit(httpx.Request.__init__, error, options)) from None
        if auth is not None:
            request = next(httpx.BasicAuth(*auth).auth_flow(request))
        if self._cookies is not None:
            self._cookies.set_cookie_header(request)
        began = time.perf_counter()
        response = await self._connections().handle_async_request(request)
        response.elapsed = timedelta(seconds=time.perf_counter() - began)
        response.request = request
        response.read()  # the body has arrived already
        if self._stores_cookies and "Set-Cookie" in response.headers:
            self._cookies = self._cookies or httpx.Cookies()
            self._cookies.extract_cookies(response)
        return response

    def cookies_for(self, path: str) -> dict[str, str]:
        """Return the header fields with the cookies that a request of a path would have."""
        import httpx

        if self._cookies is None:
            return {}
        request = httpx.Request("GET", f"https://{self.address.host}:{self.address.https_port}{path}")
        self._cookies.set_cookie_header(request)
        return {"Cookie": request.headers["Cookie"]} if "Cookie" in request.headers else {}

    async def close(self) -> None:
        """Close the connections that are not shared, and delete the cookies. The client can be used again."""
        self._cookies = None
        await self.disconnect()

    async def disconnect(self) -> None:
        """Close the connections that are not shared; the next request opens one."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    def _default_fields(self, given: Sequence[tuple[str | bytes, str | bytes]]) -> list[tuple[str, str]]:
        """Return the default header fields that are not given."""
        names = {(name if isinstance(name, str) else name.decode("latin-1")).lower() for name, _ in given}
        usual = [(name, value) for name, value in HEADERS.items() if name.lower() not in names]
        return usual if "host" in names else [*usual, ("Host", self.name)]

    def _connections(self) -> LabTransport:
        if self._shared is not None and self.certificate is None:
            return self._shared
        if self._transport is None:
            self._transport = self.address.connections(self.certificate)
        return self._transport


def _pairs(headers: Any) -> list[Any]:
    """Return header fields, in any form that httpx accepts, as pairs, which may repeat a name."""
    if headers is None:
        return []
    if hasattr(headers, "raw"):  # httpx's own
        return list(headers.raw)
    return list(headers.items() if isinstance(headers, Mapping) else headers)


def _url(text: str) -> httpx.URL:
    return _kept_url(text) if len(text) <= LONGEST_KEPT else _parsed_url(text)


@lru_cache(maxsize=1024)  # parsing takes as long as sending, and most URLs repeat
def _kept_url(text: str) -> httpx.URL:
    return _parsed_url(text)


def _parsed_url(text: str) -> httpx.URL:
    import httpx

    return httpx.URL(text)
