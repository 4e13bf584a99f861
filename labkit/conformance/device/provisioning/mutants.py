"""Faults of POST /provision/activate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.device_api.authenticate import Credential
from labkit.device_api.exchange import Exchange
from labkit.devices.registry import Device, Registry
from labkit.http.error import HttpError

CHECK = "labkit.device_api.authenticate:check"
OWNER = "labkit.device_api.authenticate:owner_of"
PROVISION = "labkit.devices.registry:Registry.provision"


# ---- the answer, and the token in it


@mutant("DEV-PROV-2 DEV-PROV-15", "labkit.core.identifiers:Identifiers.hex")
def one_token_each(original: Any) -> Any:
    """a device gets the same token each time"""

    def broken(identifiers: Any, actor: str, length: int) -> str:
        if actor.startswith("token/"):
            identifiers._counts[actor] = 0
        made: str = original(identifiers, actor, length)
        return made

    return broken


# ---- who may


@mutant("DEV-PROV-11 DEV-PROV-20", PROVISION)
def everybody_registers(original: Any) -> Any:
    """devices may always register their own identity"""
    return lambda registry, product, identity, digest, salt, register, replacing: original(
        registry, product, identity, digest, salt, True, replacing
    )


@mutant("DEV-PROV-12 DEV-PROV-13", OWNER)
def once_in_for_ever_in(original: Any) -> Any:
    """a provisioned device counts as whitelisted"""

    async def broken(registry: Registry, product: str, credential: Credential) -> Device | None:
        device: Device | None = await original(registry, product, credential)
        return device and replace(device, whitelisted=True)

    return broken


@mutant("DEV-PROV-12", "labkit.devices.registry:Registry.forget")
def remembered(original: Any) -> Any:
    """a device that is whitelisted is known as it was before"""
    return lambda registry, product, identity: None


@mutant("DEV-PROV-15 DEV-PROV-16", PROVISION)
def old_ones_stay(original: Any) -> Any:
    """new credentials are taken and forgotten; the old ones stay"""

    async def broken(registry: Any, product: str, identity: str, *args: Any) -> Any:
        if args[-1] is not None:  # the credential that is to be replaced
            return "provisioned"
        return await original(registry, product, identity, *args)

    return broken


@mutant("DEV-PROV-15", "labkit.devices.registry:Registry.forget")
def old_token_remembered(original: Any) -> Any:
    """a token that was used before is good for ever"""
    return lambda registry, product, identity: None


@mutant("DEV-PROV-17", CHECK)
def wrong_as_none(original: Any) -> Any:
    """on activate wrong credentials count as none"""

    async def broken(exchange: Exchange, registry: Registry, credential: Credential) -> Device | None:
        try:
            device: Device = await original(exchange, registry, credential)
        except HttpError:
            if exchange.path == "/provision/activate":
                return None
            raise
        return device

    return broken


@mutant("DEV-PROV-18 DEV-PROV-19", PROVISION)
def anybody_replaces(original: Any) -> Any:
    """who knows an identity may activate it again"""

    async def broken(registry: Any, product: str, identity: str, *args: Any) -> Any:
        device = await registry.find(product, identity)
        return await original(registry, product, identity, *args[:-1], device and device.digest)

    return broken
