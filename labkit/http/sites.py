"""Sites of a lab, their table by host name, and the state of a request to a site. `edge.frame` runs each request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, Protocol, TypeVar, cast
from urllib.parse import unquote

from aiohttp import web

from labkit.core.errors import SettingsError
from labkit.core.journal import Journal
from labkit.core.records import Record
from labkit.core.redaction import without_issued_in_path
from labkit.http.bodies import read_body
from labkit.http.connection import Connection
from labkit.http.error import HttpError
from labkit.http.reply import Answer
from labkit.http.request import SiteRequest

LEFT = "the connection ended before the answer"  # reason of a cancelled request


class RequestFaults(Protocol):
    """Interface of the active faults of requests."""

    async def apply_before(self, exchange: SiteExchange) -> None:
        """Apply the faults that hit a request before it is processed."""


class SiteFaults(Protocol):
    """Interface of a lab's faults. requests: None without active faults of requests."""

    @property
    def requests(self) -> RequestFaults | None: ...


class SiteContext(Protocol):
    """Interface of the lab's context for requests."""

    @property
    def journal(self) -> Journal: ...
    @property
    def faults(self) -> SiteFaults: ...


@dataclass(slots=True)
class SiteExchange:
    """Request to a site with the state of its processing.

    path: decoded; raw_query: as sent; record: of the journal; identity: of the device that sent it, once it is known;
    field_values: returns the values of a field of the request, None unless faults parsed it; answered: whether faults
    have processed or given the answer.
    """

    context: SiteContext
    site: Site[Any]
    connection: Connection
    request: SiteRequest
    path: str
    raw_query: str
    _: KW_ONLY
    record: Record | None = None
    identity: str | None = None
    field_values: Callable[[str], Iterable[object]] | None = None
    answered: bool = False

    def identify(self, identity: str | None = None) -> Record:
        """Return the journal record of this request; opens it if necessary, with `identity` in its actor."""
        if self.record is None:
            actor = self.site.actor if identity is None else f"{self.site.actor}/{identity}"
            self.record = self.context.journal.open("request", actor, f"{self.method} {self.path}")
        return self.record

    @property
    def method(self) -> str:
        """Method by which the journal and faults name the request."""
        return self.request.method

    async def acts_as(self, identity: str | None = None) -> None:
        """Apply the faults that hit a request before it is processed. A site calls it once the client is identified.

        Raises FaultAnswer, HttpError or ConnectionCut if a fault replaces the processing.
        """
        if self.record is None:  # spares a call with every request
            self.identify(identity)
        if (faults := self.context.faults.requests) is not None:
            self.identity = identity
            await faults.apply_before(self)

    async def body(self, guard: float) -> bytes:
        """Return the body of the request. guard: as of `read_body`, which tells the errors."""
        return await read_body(self.request, self.site.body_limit, guard)

    async def forget_credentials(self) -> None:
        """Delete the credentials of the device that sent the request; no effect at a site without devices."""

    def add_detail(self, **detail: object) -> None:
        """Add entries to the detail of the journal record."""
        record = self.identify()
        record.detail = {**(record.detail or {}), **detail}

    @property
    def cancel_reason(self) -> str:
        """Reason for the cancellation of the request before its answer."""
        return LEFT

    def end(self) -> None:
        """Complete the journal record. Called once, when the request is answered or never will be."""
        self.context.journal.end(self.record or self.identify())


E = TypeVar("E", bound=SiteExchange)


class Site(Generic[E]):
    """Base class of sites, which answer the requests to one host name.

    host: the name, in lower case, without port; owner: the product, solution or provider of the site, for errors
    (`product 'thermostat'`); actor: the journal's actor of unidentified requests; product, solution: id of the owner;
    body_limit: maximal bytes of a request's body; codings: those of bodies, both ways, beside identity.
    """

    product: str | None = None
    solution: str | None = None
    body_limit = 1024 * 1024
    codings: tuple[str, ...] = ()

    def __init__(self, host: str, owner: str, actor: str, context: SiteContext) -> None:
        self.host = host
        self.owner = owner
        self.actor = actor
        self._context = context

    @property
    def wants_client_certificates(self) -> bool:
        """Whether clients are asked for a certificate."""
        return False

    async def connected(self, connection: Connection) -> None:
        """Run once for each TLS connection, after the handshake and before its first request is handled.

        Runs also when no request arrives, and is not cancelled when the client leaves.
        """

    def exchange(self, connection: Connection, request: SiteRequest) -> E:
        """Return the state of a new request, with an open journal record."""
        url = request.rel_url
        summary = f"{request.method} {without_issued_in_path(url.raw_path or '/')}"
        record = self._context.journal.open("request", self.actor, summary)
        path, query = unquote(url.raw_path), url.raw_query_string
        begun = SiteExchange(self._context, self, connection, request, path, query, record=record)
        return cast(E, begun)

    def answer(self, exchange: E) -> Awaitable[Answer]:
        """Answer a request. Calls `exchange.acts_as` before processing it. Raises HttpError to refuse it."""
        raise NotImplementedError(f"{type(self).__name__} has to say how it answers")

    def refusal(self, exchange: E, error: HttpError) -> Answer:
        """Return the answer to a refused request."""
        return web.Response(status=error.status, text=error.reason, headers=error.headers)

    def complete(self, exchange: E, response: web.StreamResponse) -> None:
        """Add the headers that every answer of the site has. A `Reply` is sent as it is."""


class HostTable:
    """Table of all sites of a lab by host name.

    domain: the lab's; a site has a name below it, or another name from its settings. changes: how often a site was
    added or removed.
    """

    def __init__(self, domain: str) -> None:
        self._wildcards = tuple(f".{each}.{domain}" for each in ("m2", "apps", "social"))
        self._sites: dict[str, Site[Any]] = {}
        self.changes = 0

    def add(self, site: Site[Any]) -> None:
        """Add a site. Raises SettingsError if its name is in use."""
        if (other := self._sites.get(site.host)) is not None:
            raise SettingsError(f"{site.owner}: domain {site.host} is taken by {other.owner}")
        self._sites[site.host] = site
        self.changes += 1

    def remove(self, host: str) -> None:
        """Remove the site at this name, if any."""
        self._sites.pop(host, None)
        self.changes += 1

    def find(self, host: str) -> Site[Any] | None:
        """Return the site at a host name (lower case, no port). Called with every request, so it must be fast."""
        return self._sites.get(host)

    def serves(self, host: str) -> bool:
        """Return whether this host (lower case, no port) is one of the lab's."""
        return host in self._sites

    def certificate_names(self) -> list[str]:
        """Return the names that the server's certificate must contain, wildcards first."""
        others = (host for host in self._sites if not self._covered(host))
        return [f"*{each}" for each in self._wildcards] + sorted(others)

    def want_client_certificates(self) -> bool:
        """Return whether any site asks for client certificates, since the listener asks before it knows the site."""
        return any(site.wants_client_certificates for site in self._sites.values())

    def _covered(self, host: str) -> bool:
        """Return whether a wildcard covers a name, which has only one label in its place (RFC 6125 6.4.3)."""
        label, dot, rest = host.partition(".")
        return bool(label) and f"{dot}{rest}" in self._wildcards

    def __iter__(self) -> Iterator[Site[Any]]:
        return iter(tuple(self._sites.values()))
