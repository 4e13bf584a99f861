"""The device API: which endpoint a request means, and the frame around each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import unquote_to_bytes

from aiohttp import web

from labkit.context import Context
from labkit.core.errors import SettingsError, StorageError
from labkit.device_api import alias, content, emitted, provision, record, timestamp
from labkit.device_api.authenticate import REVOKED
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import TEXT, Download, Reply, nothing, reply
from labkit.devices.devices import Devices
from labkit.devices.identities import identity_error
from labkit.devices.products import Product
from labkit.faults import FaultAnswer
from labkit.http.connection import Connection
from labkit.http.cut import ConnectionCut
from labkit.http.error import HttpError
from labkit.http.sites import Site
from labkit.settings import ProductSettings

Endpoint = Callable[[Exchange, Devices], Awaitable[web.StreamResponse]]

ENDPOINTS: dict[str, dict[str, Endpoint]] = {
    "/provision/activate": {"POST": provision.activate},
    "/provision/download": {"GET": content.download},
    "/onep:v1/stack/alias": {"GET": alias.read, "POST": alias.write},
    "/onep:v1/stack/record": {"POST": record.record},
    "/timestamp": {"GET": timestamp.timestamp},
}


class ProductSite(Site):
    """Answers the requests of devices to one product."""

    def __init__(self, product: Product, devices: Devices, context: Context) -> None:
        super().__init__(product.domain, f"product {product.id!r}")
        self._product = product
        self._devices = devices
        self._context = context

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
        if not settings.provisioning or identity_error(settings.identity_format, identity):
            return
        outcome = await self._devices.registry.provision_certificate(
            settings.id, identity, certificate, register=settings.self_registration
        )
        if outcome == "provisioned":
            actor = f"{settings.id}/{identity}"
            cause = self._context.journal.record("connect", actor, "provisioned by certificate")
            emitted.provisioned(self._context, settings.id, connection, identity, cause)

    async def handle(self, connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request. Every refusal is a short text/plain reason; the journal has each request."""
        raw_path, _, raw_query = request.raw_path.partition("?")
        path = raw_path if raw_path in ENDPOINTS else _path(raw_path)
        exchange = Exchange(self._context, self._product, connection, request, path, raw_query)
        try:
            try:
                if self._context.faults.requests is not None:
                    await exchange.be_changed()
                response = await self.answer(exchange)
            except HttpError as refusal:
                exchange.add_detail(reason=refusal.reason)
                response = reply(refusal.status, refusal.reason, TEXT, refusal.headers)
                if refusal.closes:
                    response.force_close()
            except FaultAnswer as fault:
                response = fault.response
            if (faults := self._context.faults.requests) is not None:
                response = await faults.after(exchange.request_for_faults(), response)
        except ConnectionCut as cut:
            exchange.add_detail(reason=str(cut))
            self._context.journal.end(exchange.identify())
            raise
        except asyncio.CancelledError:
            revoked = exchange.hold is not None and exchange.hold.revoked
            exchange.add_detail(reason=REVOKED if revoked else "the connection ended before the answer")
            self._context.journal.end(exchange.identify())
            raise
        except Exception as error:
            # The edge answers, and tells what it was.
            exchange.identify().status = error.status if isinstance(error, StorageError) else 500
            self._context.journal.end(exchange.identify())
            raise
        finally:
            self._devices.registry.release(exchange.hold)
        entry = exchange.record or exchange.identify()
        entry.status = response.status
        entry.size = response.size if isinstance(response, Download | Reply) else response.content_length
        self._context.journal.end(entry)
        return response

    async def answer(self, exchange: Exchange) -> web.StreamResponse:
        methods = ENDPOINTS.get(exchange.path)
        if methods is None:
            raise HttpError(404, "unknown path")
        method = exchange.request.method
        endpoint = methods.get("GET" if method == "HEAD" else method)
        if endpoint is not None:
            return await endpoint(exchange, self._devices)
        allow = {"Allow": ", ".join([*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"])}
        if method == "OPTIONS":
            return nothing(self._context.wire, headers=allow)
        raise HttpError(405, "wrong method for this path", allow)


def _path(raw: str) -> str:
    """Return the path of a request target that is no endpoint as written: percent-encoded, or an absolute URL."""
    if not raw.startswith("/") and "://" in raw:  # RFC 9112 3.2.2
        raw = "/" + raw.partition("://")[2].partition("/")[2]
    return unquote_to_bytes(raw.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")


async def add_product(settings: ProductSettings, devices: Devices, context: Context) -> Product:
    """Add a product at its domain.

    Raises SettingsError, and adds nothing, where its id or domain is in use, or a content file cannot be read.
    """
    product = Product(settings, settings.domain or f"{settings.id}.m2.{context.settings.domain}")
    site = ProductSite(product, devices, context)
    context.hosts.add(site)
    try:
        await devices.add(product)
    except SettingsError:
        context.hosts.remove(site.host)
        raise
    return product
