"""Provisioning and reprovisioning of credentials: POST /provision/activate (document 1, Endpoints)."""

from __future__ import annotations

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from labkit.device_api import emitted
from labkit.device_api.authenticate import presented_credential, unauthorized, verify_credential
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import nothing, reply
from labkit.devices.devices import Devices
from labkit.devices.identities import identity_error
from labkit.devices.registry import SHORTEST_PASSWORD, DeviceRecord, Outcome
from labkit.http.error import HttpError
from labkit.http.reply import Answer

PEM = "application/x-pem-file"


async def activate(exchange: Exchange, devices: Devices) -> Answer:
    """Issue a device's first credential, or replace the one that it presents."""
    settings = exchange.product.settings
    credential = presented_credential(exchange)
    owner = None if credential is None else await verify_credential(exchange, devices.registry, credential)
    if not settings.provisioning:
        raise HttpError(403, "provisioning is switched off for this product")
    if not exchange.product.provisions(exchange.connection.peer_ip):
        raise HttpError(403, "devices of this product do not provision from this address")
    if settings.auth == "certificate":
        return await replace_certificate(exchange, devices, owner)
    fields = dict(await exchange.form())
    identity = identity_of(exchange, fields, owner)
    if owner is None:
        await exchange.acts_as(identity)
    if settings.auth == "password":
        return await set_password(exchange, devices, identity, fields.get("password", ""), owner)
    outcome, token = await devices.registry.provision_token(
        settings.id, identity, register=settings.self_registration, replacing=_current_digest(owner)
    )
    expect_provisioned(exchange, outcome, owner)
    _emit(exchange, identity)
    return reply(200, token)


async def set_password(
    exchange: Exchange, devices: Devices, identity: str, password: str, owner: DeviceRecord | None
) -> Answer:
    """Store the password in the form. Raises HttpError 400 for one that is too short or cannot be sent."""
    if len(password) < SHORTEST_PASSWORD:
        raise HttpError(400, f"a password has at least {SHORTEST_PASSWORD} characters")
    if ":" in identity:
        raise HttpError(400, "an identity with ':' cannot be sent in Authorization: Basic (RFC 7617)")
    settings = exchange.product.settings
    outcome = await devices.registry.provision_password(
        settings.id, identity, password, register=settings.self_registration, replacing=_current_digest(owner)
    )
    expect_provisioned(exchange, outcome, owner)
    _emit(exchange, identity)
    return nothing(exchange.context.wire)


async def replace_certificate(exchange: Exchange, devices: Devices, owner: DeviceRecord | None) -> Answer:
    """Pin the certificate in the body, whose CN is the device's identity, in place of the presented one."""
    if owner is None:
        raise unauthorized(exchange, "a certificate is provisioned by connecting with it")
    exchange.expect_type(PEM)
    body = await exchange.body(exchange.context.settings.guard.body)
    try:
        certificate = x509.load_pem_x509_certificate(body)
        names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    except (ValueError, x509.InvalidVersion):
        raise HttpError(400, "expected a certificate in PEM format") from None
    if [name.value for name in names] != [owner.identity]:
        raise HttpError(400, "the certificate's CN is not the identity of this device")
    der = certificate.public_bytes(Encoding.DER)
    outcome = await devices.registry.provision_certificate(
        owner.product, owner.identity, der, register=False, replacing=_current_digest(owner)
    )
    expect_provisioned(exchange, outcome, owner)
    _emit(exchange, owner.identity)
    return nothing(exchange.context.wire)


def identity_of(exchange: Exchange, fields: dict[str, str], owner: DeviceRecord | None) -> str:
    """Return the identity in the form, or the authenticated one. Raises HttpError 400, 403 or 404."""
    product = exchange.product
    for name in ("vendor", "model"):
        if fields.get(name, product.id) != product.id:
            raise HttpError(404, f"{name} is not this product")
    identity = fields.get("id") or fields.get("sn") or (owner.identity if owner else "")
    if fields.get("sn", identity) not in ("", identity):
        raise HttpError(400, "id and sn differ")
    if not identity:
        raise HttpError(400, "expected id=<identity>")
    if owner is not None and owner.identity != identity:
        raise HttpError(403, "the credential belongs to another identity")
    if wrong := identity_error(product.settings.identity_format, identity):
        raise HttpError(400, wrong)
    return identity


def _current_digest(owner: DeviceRecord | None) -> bytes | None:
    return None if owner is None else owner.digest


def expect_provisioned(exchange: Exchange, outcome: Outcome, owner: DeviceRecord | None) -> None:
    """Raise the HttpError of an outcome other than `provisioned`."""
    if outcome == "provisioned":
        return
    if outcome == "locked":
        raise unauthorized(exchange, "this device is locked")
    if owner is not None:
        raise unauthorized(exchange, "the credentials were replaced meanwhile")
    if outcome == "unknown":
        raise HttpError(404, "unknown identity, and devices may not register their own")
    raise HttpError(409, "this identity is provisioned; present its credentials to replace them")


def _emit(exchange: Exchange, identity: str) -> None:
    cause = exchange.identify(identity).sequence
    emitted.provisioned(exchange.context, exchange.product.id, exchange.connection, identity, cause)
