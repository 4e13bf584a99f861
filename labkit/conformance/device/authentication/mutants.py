"""Faults of authentication."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.device_api.authenticate import Credential
from labkit.device_api.exchange import Exchange
from labkit.devices.registry import Device, Registry
from labkit.http.error import HttpError

PRESENTED = "labkit.device_api.authenticate:presented"
AUTHENTICATE = "labkit.device_api.authenticate:authenticate"
DIGEST = "labkit.devices.registry:password_digest"
OWNER = "labkit.device_api.authenticate:owner_of"


@mutant("DEV-AUTH-1", PRESENTED)
def token_header_unseen(original: Any) -> Any:
    """the token header is not looked at"""

    def broken(exchange: Exchange) -> Credential | None:
        wire = exchange.context.wire.model_copy(update={"token_headers": ()})
        blind = replace(exchange, context=replace(exchange.context, wire=wire))
        found: Credential | None = original(blind)
        return found

    return broken


@mutant("DEV-AUTH-1 DEV-AUTH-2 DEV-AUTH-3", AUTHENTICATE)
def not_for_records(original: Any) -> Any:
    """credentials are good for every endpoint but record"""

    async def broken(exchange: Exchange, registry: Registry) -> Device:
        if exchange.path.endswith("/record"):
            raise HttpError(401, "credentials are not valid")
        device: Device = await original(exchange, registry)
        return device

    return broken


@mutant("DEV-AUTH-2", OWNER)
def passwords_unknown(original: Any) -> Any:
    """no password is ever right"""
    return _without(original, "password")


@mutant("DEV-AUTH-2", DIGEST)
def any_letter_case(original: Any) -> Any:
    """capitals and small letters of a password are the same"""
    return lambda password, salt: original(password.casefold(), salt)


@mutant("DEV-AUTH-2", DIGEST)
def start_counts(original: Any) -> Any:
    """the first 72 bytes of a password count"""
    return lambda password, salt: original(password.encode()[:72].decode(errors="ignore"), salt)


@mutant("DEV-AUTH-2", DIGEST)
def composed(original: Any) -> Any:
    """a password is brought to Unicode's composed form"""
    return lambda password, salt: original(unicodedata.normalize("NFC", password), salt)


@mutant("DEV-AUTH-2", "labkit.device_api.authenticate:authorization")
def last_colon(original: Any) -> Any:
    """a password is what stands behind the last colon"""

    def broken(exchange: Exchange, header: str) -> Credential:
        found: Credential = original(exchange, header)
        if found.identity is None or not isinstance(found.value, str):
            return found
        more, _, value = found.value.rpartition(":")
        return replace(found, identity=f"{found.identity}{more and ':'}{more}", value=value)

    return broken


@mutant("DEV-AUTH-3", OWNER)
def certificates_unknown(original: Any) -> Any:
    """no certificate is ever right"""
    return _without(original, "certificate")


@mutant("DEV-AUTH-12", PRESENTED)
def empty_counts(original: Any) -> Any:
    """an empty token header is a credential"""

    def broken(exchange: Exchange) -> Credential | None:
        found: Credential | None = original(exchange)
        return Credential("token", "") if exchange.request.headers.get("X-Platform-CIK") == "" else found

    return broken


@mutant("DEV-AUTH-12", PRESENTED)
def empty_authorization_counts(original: Any) -> Any:
    """an empty Authorization is a credential"""

    def broken(exchange: Exchange) -> Credential | None:
        found: Credential | None = original(exchange)
        return Credential("password", None) if exchange.request.headers.get("Authorization") == "" else found

    return broken


def _without(original: Any, auth: str) -> Any:
    async def broken(registry: Registry, product: str, credential: Credential) -> Device | None:
        found: Device | None = await original(registry, product, credential)
        return None if credential.type == auth else found

    return broken


@mutant("DEV-AUTH-4", AUTHENTICATE)
def anybody(original: Any) -> Any:
    """a request without credentials is that of a nameless device"""

    async def broken(exchange: Exchange, registry: Registry) -> Device:
        try:
            device: Device = await original(exchange, registry)
        except HttpError:
            return Device(exchange.product.id, "nobody", False, False, None, None, None)
        return device

    return broken


@mutant("DEV-AUTH-4", AUTHENTICATE)
def content_for_all(original: Any) -> Any:
    """content is for everybody"""

    async def broken(exchange: Exchange, registry: Registry) -> Device:
        if exchange.path == "/provision/download":
            return Device(exchange.product.id, "nobody", False, False, None, None, None)
        device: Device = await original(exchange, registry)
        return device

    return broken


@mutant("DEV-AUTH-4 DEV-AUTH-5", "labkit.device_api.authenticate:unauthorized")
def forbidden(original: Any) -> Any:
    """403 where it should be 401"""

    def broken(exchange: Exchange, reason: str) -> HttpError:
        refusal: HttpError = original(exchange, reason)
        return HttpError(403, reason, refusal.headers)

    return broken


@mutant("DEV-AUTH-5", "labkit.devices.registry:Device.proves")
def any_password(original: Any) -> Any:
    """whatever is shown proves who it is"""
    return lambda device, digest: device.digest is not None


@mutant("DEV-AUTH-5", "labkit.devices.registry:fingerprint")
def beginning_counts(original: Any) -> Any:
    """of a token the first 32 characters count"""
    return lambda credential: original(credential[:32] if isinstance(credential, str) else credential)


@mutant("DEV-AUTH-5", "labkit.device_api.authenticate:authorization")
def unreadable_is_400(original: Any) -> Any:
    """a credential that cannot be parsed is answered 400"""

    def broken(exchange: Exchange, header: str) -> Credential:
        found: Credential = original(exchange, header)
        if found.value is None:
            raise HttpError(400, "Authorization cannot be read")
        return found

    return broken


@mutant("DEV-AUTH-6", PRESENTED)
def any_type(original: Any) -> Any:
    """a password in the token header is taken, and a token as a Basic password"""

    def broken(exchange: Exchange) -> Credential | None:
        found: Credential | None = original(exchange)
        if found is None or not isinstance(found.value, str):
            return found
        if exchange.product.settings.auth == "token":
            return replace(found, type="token")
        return found

    return broken


@mutant("DEV-AUTH-6", "labkit.device_api.authenticate:check")
def other_type_is_400(original: Any) -> Any:
    """a credential of another type is answered 400"""

    async def broken(exchange: Exchange, registry: Registry, credential: Credential) -> Device:
        if credential.type != exchange.product.settings.auth:
            raise HttpError(400, "wrong type of credential")
        device: Device = await original(exchange, registry, credential)
        return device

    return broken


@mutant("DEV-AUTH-7", "labkit.devices.state:latest_values")
def state_of_all(original: Any) -> Any:
    """the devices of a product share their values"""

    def broken(connection: Any, product: str, identity: str, aliases: Any) -> list[tuple[str, str]]:
        found = []
        for alias in aliases:
            row = connection.exec_driver_sql(
                "SELECT value FROM datapoint WHERE product = ? AND alias = ? LIMIT 1", (product, alias)
            ).first()
            if row is not None:
                found.append((alias, row[0]))
        return found

    return broken


@mutant("DEV-AUTH-8 DEV-AUTH-9", PRESENTED)
def first_one_counts(original: Any) -> Any:
    """of two credentials the first one counts"""

    def broken(exchange: Exchange) -> Credential | None:
        try:
            found: Credential | None = original(exchange)
        except HttpError:
            value = exchange.request.headers.get(exchange.context.wire.token_headers[0], "")
            return Credential("token", value)
        return found

    return broken


@mutant("DEV-AUTH-9", PRESENTED)
def two_are_401(original: Any) -> Any:
    """two credentials are answered 401"""

    def broken(exchange: Exchange) -> Credential | None:
        try:
            found: Credential | None = original(exchange)
        except HttpError as refusal:
            raise HttpError(401, refusal.reason) from None
        return found

    return broken


@mutant("DEV-AUTH-9", PRESENTED)
def every_certificate_counts(original: Any) -> Any:
    """a client certificate is a credential on products that ask for none, too"""

    def broken(exchange: Exchange) -> Credential | None:
        found: Credential | None = original(exchange)
        if found is not None and found.type != "certificate" and exchange.connection.certificate is not None:
            raise HttpError(400, "expected exactly one credential")
        return found

    return broken


@mutant("DEV-AUTH-10", "labkit.device_api.authenticate:unauthorized")
def no_challenge(original: Any) -> Any:
    """a 401 has no WWW-Authenticate"""
    return lambda exchange, reason: HttpError(401, reason)


@mutant("DEV-AUTH-11", "labkit.device_api.authenticate:authorization")
def lower_case_scheme(original: Any) -> Any:
    """only `token` in lower case is taken in Authorization"""

    def broken(exchange: Exchange, header: str) -> Credential:
        found: Credential = original(exchange, header)
        if found.type == "token" and not header.startswith("token"):
            return Credential("password", None)
        return found

    return broken
