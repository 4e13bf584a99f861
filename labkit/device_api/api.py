"""Site of a product: routes requests of devices to the endpoints of the device API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from urllib.parse import unquote_to_bytes

from labkit.context import Context
from labkit.core.errors import SettingsError
from labkit.device_api import alias, content, emitted, provision, record, timestamp
from labkit.device_api.exchange import LARGEST, Exchange
from labkit.device_api.wire import TEXT, nothing, reply
from labkit.devices.devices import Devices
from labkit.devices.identities import identity_error
from labkit.devices.products import PlatformProduct
from labkit.http.connection import Connection
from labkit.http.error import HttpError
from labkit.http.reply import Answer
from labkit.http.request import SiteRequest
from labkit.http.sites import Site
from labkit.settings import ProductSettings

Endpoint = Callable[[Exchange, Devices], Awaitable[Answer]]

ENDPOINTS: dict[str, dict[str, Endpoint]] = {
    "/provision/activate": {"POST": provision.activate},
    "/provision/download": {"GET": content.download},
    "/onep:v1/stack/alias": {"GET": alias.read, "POST": alias.write},
    "/onep:v1/stack/record": {"POST": record.record},
    "/timestamp": {"GET": timestamp.timestamp},
}


class ProductSite(Site[Exchange]):
    """Site that answers the requests of devices to one product."""

    _context: Context

    def __init__(self, product: PlatformProduct, devices: Devices, context: Context) -> None:
        super().__init__(product.domain, f"product {product.id!r}", product.id, context)
        self.product = product.id
        self._product = product
        self._devices = devices
        self.body_limit = context.settings.guard.device_body if context.wire.large_values else LARGEST
        self.codings = ("gzip",) if context.wire.content_coding else ()

    @property
    def wants_client_certificates(self) -> bool:
        return self._product.settings.auth == "certificate"

    async def connected(self, connection: Connection) -> None:
        """Provision by certificate: pin the certificate of a device's first connection, before any request.

        A CN that violates the product's format creates no device; its requests get 401.
        """
        settings = self._product.settings
        identity, certificate = connection.common_name, connection.certificate
        if settings.auth != "certificate" or identity is None or certificate is None:
            return
        if not settings.provisioning or not self._product.provisions(connection.peer_ip):
            return
        if identity_error(settings.identity_format, identity):
            return
        outcome = await self._devices.registry.provision_certificate(
            settings.id, identity, certificate, register=settings.self_registration
        )
        if outcome == "provisioned":
            actor = f"{settings.id}/{identity}"
            cause = self._context.journal.record("connect", actor, "provisioned by certificate")
            emitted.provisioned(self._context, settings.id, connection, identity, cause)

    def exchange(self, connection: Connection, request: SiteRequest) -> Exchange:
        head = request.head
        if head.target is None:
            raw_path, _, query = request.raw_path.partition("?")
            head.target = raw_path if raw_path in ENDPOINTS else _path(raw_path), query
        path, raw_query = head.target
        return Exchange(
            self._context,
            self,
            connection,
            request,
            path,
            raw_query,
            self._product,
            self._devices.registry,
        )

    def answer(self, exchange: Exchange) -> Awaitable[Answer]:
        methods = ENDPOINTS.get(exchange.path)
        if methods is None:
            raise HttpError(404, "unknown path")
        method = exchange.request.method
        endpoint = methods.get("GET" if method == "HEAD" else method)
        if endpoint is None:
            if method != "OPTIONS":
                raise HttpError(405, "wrong method for this path", _allow(methods))
            endpoint = _options
        return endpoint(exchange, self._devices)

    def refusal(self, exchange: Exchange, error: HttpError) -> Answer:
        """Return a short text/plain reason."""
        return reply(error.status, error.reason, TEXT, error.headers)


async def _options(exchange: Exchange, devices: Devices) -> Answer:
    """Return the answer to OPTIONS: the methods of a path."""
    return nothing(exchange.context.wire, headers=_allow(ENDPOINTS[exchange.path]))


def _allow(methods: Collection[str]) -> dict[str, str]:
    """Return the Allow header of a path."""
    return {"Allow": ", ".join([*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"])}


def _path(raw: str) -> str:
    """Return the path of a request target that is no endpoint as written: percent-encoded, or an absolute URL."""
    if not raw.startswith("/") and "://" in raw:  # RFC 9112 3.2.2
        raw = "/" + raw.partition("://")[2].partition("/")[2]
    return unquote_to_bytes(raw.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")


async def add_product(settings: ProductSettings, devices: Devices, context: Context) -> PlatformProduct:
    """Add a product at its domain.

    Raises SettingsError, and adds nothing, where its id or domain is in use, or a content file cannot be read.
    """
    product = register_product(settings, devices, context)
    try:
        await devices.fill(settings)
    except SettingsError:
        remove_product(settings.id, context)
        raise
    return product


def register_product(settings: ProductSettings, devices: Devices, context: Context) -> PlatformProduct:
    """Add a product without its identities and content. Raises SettingsError where its id or domain is in use."""
    domain = settings.domain or f"{settings.id}.m2.{context.settings.domain}"
    product = PlatformProduct(settings, domain, devices.changes[settings.id])
    context.hosts.add(ProductSite(product, devices, context))
    try:
        devices.register(product)
    except SettingsError:
        context.hosts.remove(product.domain)
        raise
    return product


def remove_product(id: str, context: Context) -> None:
    """Remove a product and its site; its devices and their data stay in the database."""
    context.hosts.remove(context.products.remove(id).domain)
