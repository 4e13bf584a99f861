"""The client that virtual devices, notebooks and checks use: HTTPS to a named host of a lab, without DNS.

It always verifies the lab's CA. One client speaks to one host, because a connection belongs to the name it
was opened for (SNI).
"""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.core.certificates import KeyPair

if TYPE_CHECKING:
    import httpx

PATIENCE = 60.0  # seconds of real time before a server counts as dead


@dataclass(frozen=True, slots=True)
class Address:
    """Where a lab listens, and the certificate (PEM) of its CA."""

    host: str
    https_port: int
    ca_pem: str

    def url(self, name: str, path: str = "") -> str:
        """The URL of a path at the host `name`; it carries the port unless that is 443."""
        port = "" if self.https_port == 443 else f":{self.https_port}"
        return f"https://{name}{port}{path}"

    def context(self, certificate: KeyPair | None = None) -> ssl.SSLContext:
        """A TLS context that trusts the lab's CA alone and shows `certificate`."""
        context = ssl.create_default_context(cadata=self.ca_pem)
        context.verify_flags |= (
            ssl.VERIFY_X509_PARTIAL_CHAIN
        )  # a certificate of the user's own may lack its root
        if certificate is not None:
            with tempfile.TemporaryDirectory() as folder:  # ssl reads certificates from files only
                file = Path(folder) / "client.pem"
                file.touch(mode=0o600)
                file.write_bytes(certificate.key_pem + certificate.certificate_pem)
                context.load_cert_chain(file)
        return context


@lru_cache(maxsize=8)
def _anonymous(ca_pem: str) -> ssl.SSLContext:
    """The context of all clients that show no certificate: to make one takes as long as to ask for something."""
    return Address("", 0, ca_pem).context()


class FlowClient:
    """An HTTPS client of one host of a lab. cookies: are those that come kept for the next requests?"""

    def __init__(
        self, address: Address, name: str, certificate: KeyPair | None = None, *, cookies: bool = True
    ) -> None:
        self.address = address
        self.name = name
        self.certificate = certificate
        self._cookies = cookies
        self._client: httpx.AsyncClient | None = None

    async def request(
        self, method: str, path: str, *, patience: float | None = PATIENCE, **options: Any
    ) -> httpx.Response:
        """Send a request and read the whole answer; `options` as httpx takes them. Follows no redirects.

        patience: seconds of real time to wait for an answer; None waits for ever.
        """
        import httpx

        if self._client is None:
            from labkit.fleet.httpx_transport import LabTransport

            context = (
                _anonymous(self.address.ca_pem)
                if self.certificate is None
                else self.address.context(self.certificate)
            )
            self._client = httpx.AsyncClient(
                transport=LabTransport(self.address.host, self.address.https_port, context),
                trust_env=False,
                headers={"User-Agent": "labkit"},
                cookies=CookieJar(None if self._cookies else DefaultCookiePolicy(allowed_domains=[])),
            )
        url = httpx.URL(f"https://{self.address.host}:{self.address.https_port}{path}")
        headers = httpx.Headers(options.pop("headers", None))
        headers.setdefault("Host", self.name)
        extensions = {"sni_hostname": self.name, **options.pop("extensions", {})}
        timeout = httpx.Timeout(patience)
        return await self._client.request(
            method, url, headers=headers, extensions=extensions, timeout=timeout, **options
        )

    async def close(self) -> None:
        """Close its connections; the next request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
