"""Authentication of a request's device (document 1, Authentication).

Refusals, in the order of their checks:

| Situation                                                             | Status |
|-----------------------------------------------------------------------|--------|
| two or more credentials in one request                                | 400    |
| no credential; another type than the product's; an invalid one        | 401    |
| the device is locked                                                  | 401    |
| self-registration is off and the identity is not whitelisted          | 401    |
| activate: provisioning is switched off for the product                | 403    |
| activate: `id` is not the identity that the credential belongs to     | 403    |
| activate: vendor or model is not the product                          | 404    |
| activate: unknown identity while self-registration is off             | 404    |
| activate: the identity has a credential and the request shows none    | 409    |
| the credential was replaced, or the device locked or removed, since   | 401    |
| activate: the identity has no credential yet, and is locked           | 401    |
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from labkit.device_api.emitted import connected
from labkit.device_api.exchange import REVOKED, Exchange
from labkit.devices.registry import DeviceRecord, Registry
from labkit.http.error import HttpError
from labkit.settings import Auth

CHALLENGES = {
    "token": "Token",
    "password": 'Basic realm="device", charset="UTF-8"',
    "certificate": "Certificate",
}


@dataclass(slots=True)  # not frozen, at three times the cost with each request
class Credential:
    """A presented credential: a token, an identity with a password, or a certificate (DER) with its CN.

    `value` is None where the header is malformed. digest: that of a token, once computed.
    """

    type: Auth
    value: str | bytes | None
    identity: str | None = None
    digest: bytes | None = None


def presented_credential(exchange: Exchange) -> Credential | None:
    """Return the credential in the request; an empty header is none. Raises HttpError 400 for more than one.

    The listener asks every client for a certificate as soon as one product wants them, so a certificate is a
    credential only where its product does.
    """
    settings, head = exchange.product.settings, exchange.request.head
    known = head.credential
    if known is not None and known[0] is settings:
        credential: Credential = known[1]
        return credential
    headers = exchange.request.headers
    found: list[Credential] = []
    for name in exchange.context.wire.token_headers:
        if name in headers:
            found += [Credential("token", value.strip()) for value in headers.getall(name) if value.strip()]
    if "Authorization" in headers:
        found += [authorization(exchange, each) for each in headers.getall("Authorization") if each.strip()]
    connection = exchange.connection
    if connection.certificate is not None and settings.auth == "certificate":
        found.append(Credential("certificate", connection.certificate, connection.common_name))
    if len(found) > 1:
        raise HttpError(400, "expected exactly one credential")
    if found:
        head.credential = (settings, found[0])
    return found[0] if found else None


def authorization(exchange: Exchange, header: str) -> Credential:
    """Parse an Authorization header into a credential."""
    scheme, _, value = header.strip().partition(" ")
    value = value.strip()
    if scheme.lower() == "token" and exchange.context.wire.authorization_token:
        return Credential("token", value)
    if scheme.lower() != "basic":
        return Credential("password", None)
    try:
        identity, colon, password = base64.b64decode(value, validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        return Credential("password", None)
    if (
        colon
        and not identity
        and exchange.context.wire.basic_token
        and exchange.product.settings.auth == "token"
    ):
        return Credential("token", password)
    return Credential("password", password if colon else None, identity)


async def authenticate(exchange: Exchange, registry: Registry) -> DeviceRecord:
    """Return the device that authenticated the request. Raises HttpError 400 or 401."""
    credential = presented_credential(exchange)
    if credential is None:
        raise unauthorized(exchange, "credentials are missing")
    return await verify_credential(exchange, registry, credential)


async def verify_credential(exchange: Exchange, registry: Registry, credential: Credential) -> DeviceRecord:
    """Return the device that `credential` belongs to. Raises HttpError 401."""
    settings = exchange.product.settings
    if credential.type != settings.auth:
        where = f" in {exchange.context.wire.token_headers[0]}" if settings.auth == "token" else ""
        raise unauthorized(exchange, f"this product's devices show a {settings.auth}{where}")
    device = await find_owner(registry, settings.id, credential)
    if device is None:
        raise unauthorized(exchange, "credentials are not valid")
    record = exchange.identify(device.identity)
    exchange.authorization = registry.begin_request(device)  # before anything is awaited: no change is missed
    if device.locked:
        raise unauthorized(exchange, "this device is locked")
    if not settings.self_registration and not device.whitelisted:
        raise unauthorized(exchange, "this identity is not whitelisted")
    await exchange.acts_as(device.identity)
    if exchange.authorization.revoked:  # while a fault delayed it, or by a fault
        raise unauthorized(exchange, REVOKED)
    key = device.product, device.identity
    registry.seen[key] = exchange.connection.peer_ip, record.time
    if key not in exchange.connection.devices:
        await connected(exchange, device.identity)
        require_still_authenticated(exchange)
    return device


def require_still_authenticated(exchange: Exchange) -> None:
    """Raise HttpError 401 where, since `authenticate`, the credential was replaced, or the device locked or removed."""
    if exchange.authorization is not None and exchange.authorization.revoked:
        raise unauthorized(exchange, REVOKED)


async def find_owner(registry: Registry, product: str, credential: Credential) -> DeviceRecord | None:
    """Return the device that a credential belongs to, or None."""
    value, identity = credential.value, credential.identity
    if not value:
        return None
    if isinstance(value, bytes):
        return None if identity is None else await registry.find_by_certificate(product, identity, value)
    if credential.type == "password":
        return await registry.find_by_password(product, identity or "", value)
    if credential.digest is None:
        credential.digest = registry.token_digest(value)
    return await registry.find_by_token_digest(product, credential.digest)


def unauthorized(exchange: Exchange, reason: str) -> HttpError:
    """Return a 401 error with the challenge that RFC 9110 11.6.1 requires."""
    return HttpError(401, reason, {"WWW-Authenticate": CHALLENGES[exchange.product.settings.auth]})
