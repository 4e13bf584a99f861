"""The device API: which endpoint a request means, and the frame around each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import unquote_to_bytes

from aiohttp import web

from labkit.core.journal import Journal
from labkit.device_api import alias, content, provision, record, timestamp
from labkit.device_api.exchange import Connection, Exchange
from labkit.device_api.rooms import Rooms
from labkit.device_api.wire import TEXT, Download, nothing, reply
from labkit.devices.identities import flaw
from labkit.devices.products import Product
from labkit.http.error import HttpError
from labkit.settings import Wire

Endpoint = Callable[[Exchange, Rooms], Awaitable[web.StreamResponse]]

ENDPOINTS: dict[str, dict[str, Endpoint]] = {
    "/provision/activate": {"POST": provision.activate},
    "/provision/download": {"GET": content.download},
    "/onep:v1/stack/alias": {"GET": alias.read, "POST": alias.write},
    "/onep:v1/stack/record": {"POST": record.record},
    "/timestamp": {"GET": timestamp.timestamp},
}


class DeviceApi:
    """Answers the requests of devices to the products of a lab."""

    def __init__(self, rooms: Rooms, journal: Journal, wire: Wire, body_guard: float) -> None:
        self._rooms = rooms
        self._journal = journal
        self._wire = wire
        self._body_guard = body_guard

    async def connected(self, product: Product, connection: Connection) -> None:
        """Provision by certificate: a device's first connection pins its certificate, whatever it then asks.

        A CN that the product does not take creates nothing; its requests get 401.
        """
        settings = product.settings
        identity, certificate = connection.common_name, connection.certificate
        if settings.auth != "certificate" or identity is None or certificate is None:
            return
        if not settings.provisioning or flaw(settings.identity_format, identity):
            return
        outcome = await self._rooms.registry.provision_certificate(
            settings.id, identity, certificate, register=settings.self_registration
        )
        if outcome == "provisioned":
            cause = self._journal.record("connect", f"{product.id}/{identity}", "provisioned by certificate")
            self._rooms.provisioned(product.id, connection, identity, cause)

    async def handle(
        self, product: Product, connection: Connection, request: web.BaseRequest
    ) -> web.StreamResponse:
        """Answer one request. Every refusal is a short text/plain reason; the journal has each request."""
        raw_path, _, raw_query = request.raw_path.partition("?")
        path = raw_path if raw_path in ENDPOINTS else _path(raw_path)
        exchange = Exchange(
            product, connection, request, path, raw_query, self._wire, self._journal, self._body_guard
        )
        try:
            response = await self._endpoint(exchange)
        except HttpError as refusal:
            exchange.identify().detail = {"reason": refusal.reason}
            response = reply(refusal.status, refusal.reason, TEXT, refusal.headers)
            if refusal.closes:
                response.force_close()
        except asyncio.CancelledError:
            exchange.identify().detail = {"reason": "the connection ended before the answer"}
            raise
        except Exception:
            exchange.identify().status = 500  # the edge answers, and tells what it was
            raise
        entry = exchange.identify()
        entry.status = response.status
        entry.size = response.size if isinstance(response, Download) else response.content_length
        return response

    async def _endpoint(self, exchange: Exchange) -> web.StreamResponse:
        methods = ENDPOINTS.get(exchange.path)
        if methods is None:
            raise HttpError(404, "unknown path")
        method = exchange.request.method
        endpoint = methods.get("GET" if method == "HEAD" else method)
        if endpoint is not None:
            return await endpoint(exchange, self._rooms)
        allow = {"Allow": ", ".join([*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"])}
        if method == "OPTIONS":
            return nothing(self._wire, headers=allow)
        raise HttpError(405, "wrong method for this path", allow)


def _path(raw: str) -> str:
    """The path of a request target that is not an endpoint as it stands: percent-encoded, or a whole URL."""
    if not raw.startswith("/") and "://" in raw:  # RFC 9112 3.2.2
        raw = "/" + raw.partition("://")[2].partition("/")[2]
    return unquote_to_bytes(raw.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
