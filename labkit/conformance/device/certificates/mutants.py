"""Faults of client certificates."""

from __future__ import annotations

import hashlib
from typing import Any

from cryptography import x509

from labkit.conformance.breaking import always, change_arguments
from labkit.conformance.mutant import mutant, patch
from labkit.device_api.exchange import Exchange
from labkit.http.connection import Connection
from labkit.http.error import HttpError

CONNECTED = "labkit.device_api.api:ProductSite.connected"
NAME = "labkit.core.certificates:common_name"
PROVISION = "labkit.devices.registry:Registry.provision_certificate"

nothing_by_itself = patch("DEV-CERT-1 DEV-CERT-2 DEV-CERT-6", CONNECTED, "a connection provisions nothing")(
    always(None)
)
named_by_digest = patch("DEV-CERT-3", NAME, "a device is named by the digest of its certificate")(
    lambda original, certificate: hashlib.sha256(certificate).hexdigest()
)
pinned_though_refused = patch("DEV-CERT-5", PROVISION, "a refused certificate takes its CN all the same")(
    change_arguments(register=True)
)
any_name = patch("DEV-CERT-9", "labkit.devices.identities:identity_error", "every CN is an identity")(
    always(None)
)


@patch("DEV-CERT-2", "labkit.device_api.api:ProductSite.answer")
async def undone(original: Any, api: Any, exchange: Exchange) -> Any:
    """a refused request undoes what its connection provisioned"""
    try:
        return await original(api, exchange)
    except HttpError as refusal:
        product, name = exchange.product, exchange.connection.common_name
        if product.settings.auth == "certificate" and name and refusal.status != 401:
            await api._devices.registry.remove(product.id, name)
        raise


@patch("DEV-CERT-4", PROVISION)
async def old_one_stays(original: Any, *device: Any, replacing: Any = None, **named: Any) -> Any:
    """a new certificate is accepted, but not stored"""
    return await original(*device, **named) if replacing is None else "provisioned"


@mutant("DEV-CERT-4", "labkit.devices.registry:Registry.find_by_certificate")
def old_one_good_too(original: Any) -> Any:
    """every certificate that a device ever had stays valid"""
    known: set[bytes] = set()

    async def broken(registry: Any, product: str, identity: str, certificate: bytes) -> Any:
        if (device := await original(registry, product, identity, certificate)) is not None:
            known.add(certificate)
        return await registry.find(product, identity) if certificate in known else device

    return broken


@mutant("DEV-CERT-6", CONNECTED)
def late(original: Any) -> Any:
    """a certificate is provisioned by the second connection that presents it"""
    seen: set[bytes] = set()

    async def broken(site: Any, connection: Connection) -> None:
        if connection.certificate in seen:
            await original(site, connection)
        elif connection.certificate is not None:
            seen.add(connection.certificate)

    return broken


@patch("DEV-CERT-7", "labkit.edge.openssl:AnyClientContext.__init__", alone=True)
def known_issuers_only(original: Any, context: Any, *arguments: Any) -> None:
    """a certificate has to be signed by a known authority"""
    from OpenSSL import SSL

    original(context, *arguments)
    context._context.set_verify(SSL.VERIFY_PEER, lambda *verdict: bool(verdict[-1]))


@patch("DEV-CERT-7", CONNECTED)
async def valid_ones_only(original: Any, site: Any, connection: Connection) -> None:
    """an expired certificate is not provisioned"""
    if connection.certificate is not None:
        loaded = x509.load_der_x509_certificate(connection.certificate)
        if (
            loaded.not_valid_after_utc - loaded.not_valid_before_utc
        ).days < 30:  # the checks' other certificates are valid for years
            return
    await original(site, connection)


@patch("DEV-CERT-8", PROVISION)
async def last_one_wins(original: Any, registry: Any, *device: Any, **named: Any) -> Any:
    """another certificate takes over the CN"""
    there = await registry.find(*device[:2])
    return await original(registry, *device, **{**named, "replacing": there and there.digest})
