"""Faults of what a device sends to POST /provision/activate: passwords and identities."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import reply
from labkit.devices.registry import Device, Registry
from labkit.http.error import HttpError
from labkit.settings import IdentityFormat

IDENTITY_ERROR = "labkit.devices.identities:identity_error"
IDENTITY = "labkit.device_api.provision:identity_of"
PASSWORD = "labkit.device_api.provision:set_password"
PROVISION_PASSWORD = "labkit.devices.registry:Registry.provision_password"


# ---- passwords


@mutant("DEV-PROV-5", PROVISION_PASSWORD)
def password_lost(original: Any) -> Any:
    """the password that was set is not the one that counts"""

    async def broken(registry: Registry, product: str, identity: str, password: str, **how: Any) -> Any:
        return await original(registry, product, identity, password + " ", **how)

    return broken


@mutant("DEV-PROV-6", PASSWORD)
def password_acknowledged(original: Any) -> Any:
    """a password is answered 200 with a text"""

    async def broken(*args: Any) -> web.StreamResponse:
        await original(*args)
        return reply(200, "done")

    return broken


@mutant("DEV-PROV-7", PASSWORD)
def nineteen(original: Any) -> Any:
    """a password of 19 characters is long enough"""
    return _lengthened(original, 19)


@mutant("DEV-PROV-7", PASSWORD)
def twenty_one(original: Any) -> Any:
    """a password of 20 characters is too short"""

    async def broken(exchange: Any, devices: Any, identity: str, password: str, owner: Any) -> Any:
        if len(password) < 21:
            raise HttpError(400, "too short")
        return await original(exchange, devices, identity, password, owner)

    return broken


@mutant("DEV-PROV-22", PASSWORD)
def password_optional(original: Any) -> Any:
    """a password may be missing"""
    return _lengthened(original, 0)


def _lengthened(original: Any, shortest: int) -> Any:
    """_password, for which passwords of this length are long enough"""

    async def broken(exchange: Any, devices: Any, identity: str, password: str, owner: Any) -> Any:
        if shortest <= len(password) < 20:
            await devices.registry.provision_password(exchange.product.id, identity, password, register=True)
            return reply(204)
        return await original(exchange, devices, identity, password, owner)

    return broken


@mutant("DEV-PROV-22", PASSWORD)
def any_colon(original: Any) -> Any:
    """an identity with a colon gets a password"""

    async def broken(exchange: Any, devices: Any, identity: str, password: str, owner: Any) -> Any:
        return await original(exchange, devices, identity.replace(":", "."), password, owner)

    return broken


# ---- identities


@mutant("DEV-PROV-8 DEV-PROV-9", IDENTITY_ERROR)
def any_identity(original: Any) -> Any:
    """every identity fits every format"""
    return lambda rules, identity: None


@mutant("DEV-PROV-9", IDENTITY_ERROR)
def any_case(original: Any) -> Any:
    """the casing of an identity does not matter"""
    return lambda rules, identity: original(rules.model_copy(update={"casing": "mixed"}), identity)


@mutant("DEV-PROV-9", IDENTITY_ERROR)
def no_prefix(original: Any) -> Any:
    """the prefix of an identity may be missing"""

    def broken(rules: IdentityFormat, identity: str) -> str | None:
        problem: str | None = original(rules, rules.prefix + identity.removeprefix(rules.prefix))
        return problem

    return broken


@mutant("DEV-PROV-9", IDENTITY_ERROR)
def half_as_long(original: Any) -> Any:
    """an opaque identity has 128 characters at most"""
    return lambda rules, identity: "too long" if len(identity) > 128 else original(rules, identity)


@mutant("DEV-PROV-4 DEV-PROV-23", IDENTITY)
def no_serial_number(original: Any) -> Any:
    """sn is not looked at"""

    def broken(exchange: Exchange, fields: dict[str, str], owner: Device | None) -> Any:
        return original(exchange, {name: value for name, value in fields.items() if name != "sn"}, owner)

    return broken


@mutant("DEV-PROV-20", IDENTITY)
def any_vendor(original: Any) -> Any:
    """vendor and model are not looked at"""

    def broken(exchange: Exchange, fields: dict[str, str], owner: Device | None) -> Any:
        kept = {name: value for name, value in fields.items() if name not in ("vendor", "model")}
        return original(exchange, kept, owner)

    return broken


@mutant("DEV-PROV-21", IDENTITY)
def any_owner(original: Any) -> Any:
    """a device may activate for another"""
    return lambda exchange, fields, owner: original(exchange, fields, None)


@mutant("DEV-PROV-22", IDENTITY)
def id_wins(original: Any) -> Any:
    """id and sn may differ: id counts"""

    def broken(exchange: Exchange, fields: dict[str, str], owner: Device | None) -> Any:
        return original(exchange, {**fields, "sn": ""} if fields.get("id") else fields, owner)

    return broken


@mutant("DEV-PROV-23", IDENTITY)
def vendor_wanted(original: Any) -> Any:
    """sn needs vendor and model beside it"""

    def broken(exchange: Exchange, fields: dict[str, str], owner: Device | None) -> Any:
        if "sn" in fields and "vendor" not in fields:
            raise HttpError(400, "vendor is missing")
        return original(exchange, fields, owner)

    return broken


@mutant("DEV-PROV-24", IDENTITY)
def identity_wanted(original: Any) -> Any:
    """the identity has to be there, also with credentials"""

    def broken(exchange: Exchange, fields: dict[str, str], owner: Device | None) -> Any:
        if not fields.get("id") and not fields.get("sn"):
            raise HttpError(400, "id is missing")
        return original(exchange, fields, owner)

    return broken
