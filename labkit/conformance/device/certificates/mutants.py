"""Faults of client certificates."""

from __future__ import annotations

import hashlib
from typing import Any

from aiohttp import web
from cryptography import x509

from labkit.conformance.mutant import mutant
from labkit.device_api.api import ProductSite
from labkit.device_api.exchange import Exchange
from labkit.http.connection import Connection
from labkit.http.error import HttpError

CONNECTED = "labkit.device_api.api:ProductSite.connected"
ENDPOINT = "labkit.device_api.api:ProductSite.answer"
PROVISION = "labkit.devices.registry:Registry.provision_certificate"


@mutant("DEV-CERT-1 DEV-CERT-2 DEV-CERT-6", CONNECTED)
def nothing_by_itself(original: Any) -> Any:
    """a connection provisions nothing"""

    async def broken(site: ProductSite, connection: Connection) -> None:
        return None

    return broken


@mutant("DEV-CERT-2", ENDPOINT)
def undone(original: Any) -> Any:
    """a refused request undoes what its connection provisioned"""

    async def broken(api: Any, exchange: Exchange) -> web.StreamResponse:
        try:
            response: web.StreamResponse = await original(api, exchange)
        except HttpError as refusal:
            product, name = exchange.product, exchange.connection.common_name
            if product.settings.auth == "certificate" and name and refusal.status != 401:
                await api._devices.registry.remove(product.id, name)
            raise
        return response

    return broken


@mutant("DEV-CERT-3", "labkit.core.certificates:common_name")
def named_by_digest(original: Any) -> Any:
    """a device is named by the digest of its certificate"""
    return lambda certificate: hashlib.sha256(certificate).hexdigest()


@mutant("DEV-CERT-4", PROVISION)
def old_one_stays(original: Any) -> Any:
    """a new certificate is taken and forgotten"""

    async def broken(registry: Any, product: str, identity: str, certificate: bytes, **how: Any) -> Any:
        if how.get("replacing") is not None:
            return "provisioned"
        return await original(registry, product, identity, certificate, **how)

    return broken


@mutant("DEV-CERT-4", "labkit.devices.registry:Registry.by_certificate")
def old_one_good_too(original: Any) -> Any:
    """every certificate that a device had is good"""
    known: set[bytes] = set()

    async def broken(registry: Any, product: str, identity: str, certificate: bytes) -> Any:
        device = await original(registry, product, identity, certificate)
        if device is not None:
            known.add(certificate)
        elif certificate in known:
            return await registry.find(product, identity)
        return device

    return broken


@mutant("DEV-CERT-5", PROVISION)
def pinned_though_refused(original: Any) -> Any:
    """a refused certificate takes its CN all the same"""

    async def broken(registry: Any, product: str, identity: str, certificate: bytes, **how: Any) -> Any:
        return await original(registry, product, identity, certificate, **{**how, "register": True})

    return broken


@mutant("DEV-CERT-6", CONNECTED)
def late(original: Any) -> Any:
    """a certificate is provisioned by the second connection that shows it"""
    seen: set[bytes] = set()

    async def broken(site: ProductSite, connection: Connection) -> None:
        if connection.certificate in seen:
            await original(site, connection)
        elif connection.certificate is not None:
            seen.add(connection.certificate)

    return broken


@mutant("DEV-CERT-7", "labkit.edge.openssl:AnyClientContext.__init__")
def known_issuers_only(original: Any) -> Any:
    """a certificate has to be signed by somebody known"""

    def broken(context: Any, *args: Any) -> None:
        from OpenSSL import SSL

        original(context, *args)
        context._context.set_verify(SSL.VERIFY_PEER, lambda *verdict: bool(verdict[-1]))

    return broken


@mutant("DEV-CERT-7", CONNECTED)
def valid_ones_only(original: Any) -> Any:
    """an expired certificate is not provisioned"""

    async def broken(site: ProductSite, connection: Connection) -> None:
        der = connection.certificate
        if der is not None:
            loaded = x509.load_der_x509_certificate(der)
            lasts = loaded.not_valid_after_utc - loaded.not_valid_before_utc
            if lasts.days < 30:  # those of the checks last for years unless they are expired
                return
        await original(site, connection)

    return broken


@mutant("DEV-CERT-8", PROVISION)
def last_one_wins(original: Any) -> Any:
    """another certificate takes over the CN"""

    async def broken(registry: Any, product: str, identity: str, certificate: bytes, **how: Any) -> Any:
        device = await registry.find(product, identity)
        how["replacing"] = device and device.digest
        return await original(registry, product, identity, certificate, **how)

    return broken


@mutant("DEV-CERT-9", "labkit.devices.identities:identity_error")
def any_name(original: Any) -> Any:
    """every CN is an identity"""
    return lambda rules, identity: None
