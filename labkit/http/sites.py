"""The sites of a lab by host name."""

from __future__ import annotations

from collections.abc import Iterator

from aiohttp import web

from labkit.core.errors import SettingsError
from labkit.http.connection import Connection


class Site:
    """Answers the requests to one host name.

    host: the name, in lower case, without port; owner: a description for errors (`product 'thermostat'`).
    """

    def __init__(self, host: str, owner: str) -> None:
        self.host = host
        self.owner = owner

    @property
    def wants_client_certificates(self) -> bool:
        """Whether clients are asked for a certificate."""
        return False

    async def connected(self, connection: Connection) -> None:
        """Run once for each TLS connection, after the handshake and before its first request is handled.

        Runs also when no request arrives, and is not cancelled when the client leaves.
        """

    async def handle(self, connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        raise NotImplementedError(f"{type(self).__name__} has to say how it answers")


class HostTable:
    """The sites of a lab by host name: the one place that knows which names are in use.

    domain: the lab's; every site has a name below it, or one that its settings give.
    """

    def __init__(self, domain: str) -> None:
        self._wildcards = tuple(f".{each}.{domain}" for each in ("m2", "apps", "social"))
        self._sites: dict[str, Site] = {}

    def add(self, site: Site) -> None:
        """Add a site. Raises SettingsError where its name is in use."""
        if (other := self._sites.get(site.host)) is not None:
            raise SettingsError(f"{site.owner}: domain {site.host} is taken by {other.owner}")
        self._sites[site.host] = site

    def remove(self, host: str) -> None:
        """Remove the site at this name, if any."""
        self._sites.pop(host, None)

    def find(self, host: str) -> Site | None:
        """Return the site at a host name (lower case, no port); called with every request."""
        return self._sites.get(host)

    def serves(self, host: str) -> bool:
        """Return whether this host (lower case, no port) is one of the lab's."""
        return host in self._sites

    def certificate_names(self) -> list[str]:
        """Return the names that the server's certificate must contain, wildcards first."""
        others = (host for host in self._sites if not self._covered(host))
        return [f"*{each}" for each in self._wildcards] + sorted(others)

    def want_client_certificates(self) -> bool:
        """Return whether any site asks for client certificates; the listener asks before it knows the site."""
        return any(site.wants_client_certificates for site in self._sites.values())

    def _covered(self, host: str) -> bool:
        """Return whether a wildcard covers this name; it covers one label only (RFC 6125 6.4.3)."""
        label, dot, rest = host.partition(".")
        return bool(label) and f"{dot}{rest}" in self._wildcards

    def __iter__(self) -> Iterator[Site]:
        return iter(tuple(self._sites.values()))
