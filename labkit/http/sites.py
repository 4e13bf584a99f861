"""Who answers at which host name of a lab."""

from __future__ import annotations

from collections.abc import Iterator

from aiohttp import web

from labkit.core.errors import SettingsError
from labkit.http.connection import Connection


class Site:
    """Answers the requests to one host name.

    host: the name, in lower case, without port; owner: what it belongs to, for errors (`product 'thermostat'`).
    """

    def __init__(self, host: str, owner: str) -> None:
        self.host = host
        self.owner = owner

    @property
    def wants_client_certificates(self) -> bool:
        """Are clients asked for a certificate?"""
        return False

    async def connected(self, connection: Connection) -> None:
        """Run once for each TLS connection, after the handshake and before its first request is handled, also when
        no request ever comes; it goes on when the client leaves.
        """

    async def handle(self, connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        raise NotImplementedError(f"{type(self).__name__} has to say how it answers")


class HostTable:
    """The sites of a lab by host name: the one place that knows which names are taken.

    domain: that of the lab; every site has a name of its own below it, or one that its settings give.
    """

    def __init__(self, domain: str) -> None:
        self._wildcards = tuple(f".{each}.{domain}" for each in ("m2", "apps", "social"))
        self._sites: dict[str, Site] = {}

    def add(self, site: Site) -> None:
        """Raises SettingsError where the name is taken."""
        if (other := self._sites.get(site.host)) is not None:
            raise SettingsError(f"{site.owner}: domain {site.host} is taken by {other.owner}")
        self._sites[site.host] = site

    def remove(self, host: str) -> None:
        """Nothing is served at this name any more."""
        self._sites.pop(host, None)

    def at(self, host: str) -> Site | None:
        """The site at a host name (lower case, no port), asked for with every request."""
        return self._sites.get(host)

    def serves(self, host: str) -> bool:
        """Is this host (lower case, no port) one of this lab's?"""
        return host in self._sites

    def certificate_names(self) -> list[str]:
        """The names that the server's certificate has to hold, wildcards first."""
        others = (host for host in self._sites if not self._covered(host))
        return [f"*{each}" for each in self._wildcards] + sorted(others)

    def want_client_certificates(self) -> bool:
        """Does any site ask for client certificates? The listener asks before it knows which one is meant."""
        return any(site.wants_client_certificates for site in self._sites.values())

    def _covered(self, host: str) -> bool:
        """Does a wildcard stand for this name? It stands for one label alone (RFC 6125 6.4.3)."""
        label, dot, rest = host.partition(".")
        return bool(label) and f"{dot}{rest}" in self._wildcards

    def __iter__(self) -> Iterator[Site]:
        return iter(tuple(self._sites.values()))
