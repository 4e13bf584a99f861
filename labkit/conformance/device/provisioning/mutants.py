"""Faults of POST /provision/activate."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.device_api.authenticate import Credential
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import reply
from labkit.devices.devices import Devices
from labkit.devices.registry import Device, Registry
from labkit.http.error import HttpError

ACTIVATE = "labkit.device_api.provision:activate"
CHECK = "labkit.device_api.authenticate:check"
OWNER = "labkit.device_api.authenticate:owner_of"
PROVISION = "labkit.devices.registry:Registry.provision"
UNLESS_DONE = "labkit.device_api.provision:refuse_unless_done"


# ---- the answer, and the token in it


def _answering(original: Any, change: Any) -> Any:
    """activate, with its answer 200 changed"""

    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        response = await original(exchange, devices)
        changed: web.StreamResponse = change(response.text) if response.status == 200 else response
        return changed

    return broken


@mutant("DEV-PROV-1", ACTIVATE)
def html(original: Any) -> Any:
    """the token comes as text/html"""
    return _answering(original, lambda token: reply(200, token, "text/html; charset=utf-8"))


@mutant("DEV-PROV-1 DEV-PROV-4", ACTIVATE)
def form(original: Any) -> Any:
    """the token comes as a form"""
    return _answering(original, lambda token: reply(200, f"token={token}"))


@mutant("DEV-PROV-1 DEV-PROV-4", ACTIVATE)
def line_end(original: Any) -> Any:
    """a line end follows the token"""
    return _answering(original, lambda token: reply(200, f"{token}\n"))


@mutant("DEV-PROV-5", ACTIVATE)
def backwards(original: Any) -> Any:
    """the token that comes back is not the one that was stored"""
    return _answering(original, lambda token: reply(200, token[::-1]))


@mutant("DEV-PROV-2", "labkit.core.identifiers:Identifiers.hex")
def short(original: Any) -> Any:
    """a token has 39 characters"""
    return lambda identifiers, actor, length: original(identifiers, actor, 39 if length == 40 else length)


@mutant("DEV-PROV-2 DEV-PROV-15", "labkit.core.identifiers:Identifiers.hex")
def one_token_each(original: Any) -> Any:
    """a device gets the same token each time"""

    def broken(identifiers: Any, actor: str, length: int) -> str:
        if actor.startswith("token/"):
            identifiers._counts[actor] = 0
        made: str = original(identifiers, actor, length)
        return made

    return broken


@mutant("DEV-PROV-3", "labkit.core.identifiers:Identifiers.hex")
def letters(original: Any) -> Any:
    """a token is made of all letters and digits"""

    def broken(identifiers: Any, actor: str, length: int) -> str:
        make = identifiers.alphanumeric if length == 40 else partial(original, identifiers)
        made: str = make(actor, length)
        return made

    return broken


# ---- who may


@mutant("DEV-PROV-10", PROVISION)
def nobody_registers(original: Any) -> Any:
    """devices may never register their own identity"""
    return lambda registry, product, identity, digest, salt, register, replacing: original(
        registry, product, identity, digest, salt, False, replacing
    )


@mutant("DEV-PROV-11 DEV-PROV-20", PROVISION)
def everybody_registers(original: Any) -> Any:
    """devices may always register their own identity"""
    return lambda registry, product, identity, digest, salt, register, replacing: original(
        registry, product, identity, digest, salt, True, replacing
    )


@mutant("DEV-PROV-11 DEV-PROV-14", PROVISION)
def whitelist_unread(original: Any) -> Any:
    """with self-registration off not even whitelisted devices are provisioned"""

    async def broken(registry: Any, product: str, identity: str, *args: Any) -> Any:
        if not args[-2]:  # self-registration
            return "unknown"
        return await original(registry, product, identity, *args)

    return broken


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


@mutant("DEV-PROV-13", CHECK)
def whitelist_is_403(original: Any) -> Any:
    """a device that is not whitelisted is answered 403"""

    async def broken(exchange: Exchange, registry: Registry, credential: Credential) -> Device:
        try:
            device: Device = await original(exchange, registry, credential)
        except HttpError as refusal:
            raise (HttpError(403, refusal.reason) if "whitelisted" in refusal.reason else refusal) from None
        return device

    return broken


@mutant("DEV-PROV-14", "labkit.devices.state:State.store")
def whitelisted_cannot_write(original: Any) -> Any:
    """what whitelisted devices write is not stored"""

    async def broken(state: Any, product: str, identity: str, points: Any, *rest: Any) -> Any:
        kept = [] if identity.startswith("allowed-") else points
        return await original(state, product, identity, kept, *rest)

    return broken


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


@mutant("DEV-PROV-19", UNLESS_DONE)
def taken_is_400(original: Any) -> Any:
    """a taken identity is answered 400"""
    return _refusing_with(original, 409, 400)


@mutant("DEV-PROV-20", UNLESS_DONE)
def unknown_is_403(original: Any) -> Any:
    """an unknown identity is answered 403"""
    return _refusing_with(original, 404, 403)


def _refusing_with(original: Any, status: int, other: int) -> Any:
    def broken(*args: Any) -> None:
        try:
            original(*args)
        except HttpError as refusal:
            raise HttpError(other if refusal.status == status else refusal.status, refusal.reason) from None

    return broken


@mutant("DEV-PROV-21", ACTIVATE)
def always_on(original: Any) -> Any:
    """provisioning cannot be switched off"""

    async def broken(exchange: Exchange, devices: Devices) -> web.StreamResponse:
        settings = exchange.product.settings
        exchange.product.settings = settings.model_copy(update={"provisioning": True})
        try:
            response: web.StreamResponse = await original(exchange, devices)
        finally:
            exchange.product.settings = settings
        return response

    return broken
